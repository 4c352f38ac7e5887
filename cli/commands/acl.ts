import type { AclRow } from '../../core/bus/kafka/acl.ts'
import { TOPICS, type Topic, topicName } from '../../schemas/topics.ts'

/** Who a rule is for: the three roles, and who prepares and repairs the installation (`init`, `status`, `dlq`). */
export type AclRole = 'ingest' | 'process' | 'serve' | 'init'

/** Name prefixes of what a role owns: its groups, the transactional ids of its writers, its state and its dead letters. */
const OWN: Readonly<Record<Exclude<AclRole, 'init'>, readonly string[]>> = {
  ingest: ['ingest.', 'documents.', 'pending.'],
  process: ['process.', 'sink.'],
  serve: ['webhooks.', 'control-', 'usage-'],
}
/** Readers without a shared group have groups of their own under the client's name. */
const READERS = 'sluice.'
/** Topics that belong to serving: accounts, charges, webhooks. */
const SERVED = ['_control.', '_usage.', '_webhooks.'] as const

type Rule = Omit<AclRow, 'principal'>

const rule = (
  resource: Rule['resource'],
  name: string,
  ...operations: readonly Rule['operation'][]
): readonly Rule[] => {
  const isPrefix = /[.-]$/.test(name)
  const pattern = isPrefix ? 'prefixed' : 'literal'
  return operations.map((operation) => ({ resource, name, pattern, operation }))
}

const ownRules = (role: Exclude<AclRole, 'init'>): readonly Rule[] => [
  ...rule('topic', '*', 'describe'),
  // `/status` of each role tells how far all groups are.
  ...rule('group', '*', 'describe'),
  ...rule('group', READERS, 'read', 'delete'),
  ...OWN[role].flatMap((prefix) => [
    ...rule('group', prefix, 'read'),
    ...rule('transactional-id', prefix, 'write', 'describe'),
    ...rule('topic', `_state.${prefix}`, 'read', 'write'),
    ...rule('topic', `dlq.${prefix}`, 'write'),
  ]),
]

const chainTopics = (chains: readonly string[], role: 'ingest' | 'process') =>
  (Object.keys(TOPICS) as Topic[])
    .filter((topic) => TOPICS[topic].scope !== 'global' && TOPICS[topic].writer === role)
    .flatMap((topic) => chains.map((chain) => topicName(topic, chain)))

const readsChains = (chains: readonly string[]): readonly Rule[] => [
  ...chains.flatMap((chain) => rule('topic', `${chain}.`, 'read')),
  ...chains.flatMap((chain) => rule('topic', topicName('holderDeltas', chain), 'read')),
]

const writes = (topics: readonly string[]): readonly Rule[] =>
  topics.flatMap((topic) => rule('topic', topic, 'write'))

const RULES: Readonly<Record<AclRole, (chains: readonly string[]) => readonly Rule[]>> = {
  ingest: (chains) => [
    ...ownRules('ingest'),
    ...readsChains(chains),
    ...writes(chainTopics(chains, 'ingest')),
  ],
  process: (chains) => [
    ...ownRules('process'),
    ...readsChains(chains),
    ...writes(chainTopics(chains, 'process')),
  ],
  serve: (chains) => [
    ...ownRules('serve'),
    ...readsChains(chains),
    ...SERVED.flatMap((prefix) => rule('topic', prefix, 'read', 'write')),
  ],
  init: () => [
    ...rule('cluster', 'kafka-cluster', 'create', 'alter', 'describe'),
    ...rule('topic', '*', 'all'),
    ...rule('group', '*', 'all'),
    ...rule('transactional-id', '*', 'all'),
  ],
}

/**
 * Kafka access rules of an installation: each role may read what it folds or serves and write what it makes. Only `serve` and
 * `init` reach accounts, only `ingest` writes what chains said. Principals are `User:<prefix><role>`.
 */
export const aclRows = (chains: readonly string[], prefix: string): readonly AclRow[] =>
  (Object.keys(RULES) as AclRole[]).flatMap((role) =>
    RULES[role](chains).map((row) => ({ principal: `User:${prefix}${role}`, ...row })),
  )

/** A rule as an operator reads it. */
export const aclLine = ({ principal, operation, resource, name, pattern }: AclRow): string =>
  `${principal}  ${operation}  ${resource}  ${name}${pattern === 'prefixed' ? '*' : ''}`
