import type { AclRow } from '../../core/bus/kafka/acl.ts'
import { TOPICS, type Topic, topicName } from '../../schemas/topics.ts'

/** Who a rule is for: the three roles, and who prepares and repairs the installation (`init`, `status`, `dlq`). */
export type AclRole = 'ingest' | 'process' | 'serve' | 'init'

/** Name prefixes of what a role owns: its groups, the transactional ids of its writers, its state and its dead letters. */
const OWN_PREFIXES: Readonly<Record<Exclude<AclRole, 'init'>, readonly string[]>> = {
  ingest: ['ingest.', 'documents.', 'pending.'],
  process: ['process.', 'sink.'],
  serve: ['webhooks.', 'control-', 'usage-'],
}
/** Readers without a shared group have groups of their own under the client's name. */
const READER_GROUP_PREFIX = 'sluice.'
/** Topics that belong to serving: accounts, charges, webhooks, risk assessments. */
const SERVING_TOPIC_PREFIXES = ['_control.', '_usage.', '_webhooks.', '_risk.'] as const

type AclRule = Omit<AclRow, 'principal'>

const aclRules = (
  resource: AclRule['resource'],
  name: string,
  ...operations: readonly AclRule['operation'][]
): readonly AclRule[] => {
  const isPrefix = /[.-]$/.test(name)
  const pattern = isPrefix ? 'prefixed' : 'literal'
  return operations.map((operation) => ({ resource, name, pattern, operation }))
}

const roleOwnRules = (role: Exclude<AclRole, 'init'>): readonly AclRule[] => [
  ...aclRules('topic', '*', 'describe'),
  // `/status` of each role tells how far all groups are.
  ...aclRules('group', '*', 'describe'),
  ...aclRules('group', READER_GROUP_PREFIX, 'read', 'delete'),
  ...OWN_PREFIXES[role].flatMap((prefix) => [
    ...aclRules('group', prefix, 'read'),
    ...aclRules('transactional-id', prefix, 'write', 'describe'),
    ...aclRules('topic', `_state.${prefix}`, 'read', 'write'),
    ...aclRules('topic', `dlq.${prefix}`, 'write'),
  ]),
]

const chainTopics = (chains: readonly string[], role: 'ingest' | 'process') =>
  (Object.keys(TOPICS) as Topic[])
    .filter((topic) => TOPICS[topic].scope !== 'global' && TOPICS[topic].writer === role)
    .flatMap((topic) => chains.map((chain) => topicName(topic, chain)))

const chainReadRules = (chains: readonly string[]): readonly AclRule[] => [
  ...chains.flatMap((chain) => aclRules('topic', `${chain}.`, 'read')),
  ...chains.flatMap((chain) => aclRules('topic', topicName('holderDeltas', chain), 'read')),
]

const topicWriteRules = (topics: readonly string[]): readonly AclRule[] =>
  topics.flatMap((topic) => aclRules('topic', topic, 'write'))

const RULES_BY_ROLE: Readonly<Record<AclRole, (chains: readonly string[]) => readonly AclRule[]>> =
  {
    ingest: (chains) => [
      ...roleOwnRules('ingest'),
      ...chainReadRules(chains),
      ...topicWriteRules(chainTopics(chains, 'ingest')),
    ],
    process: (chains) => [
      ...roleOwnRules('process'),
      ...chainReadRules(chains),
      ...topicWriteRules(chainTopics(chains, 'process')),
    ],
    serve: (chains) => [
      ...roleOwnRules('serve'),
      ...chainReadRules(chains),
      ...SERVING_TOPIC_PREFIXES.flatMap((prefix) => aclRules('topic', prefix, 'read', 'write')),
    ],
    init: () => [
      ...aclRules('cluster', 'kafka-cluster', 'create', 'alter', 'describe'),
      ...aclRules('topic', '*', 'all'),
      ...aclRules('group', '*', 'all'),
      ...aclRules('transactional-id', '*', 'all'),
    ],
  }

/**
 * Kafka access rules of an installation: each role may read what it folds or serves and write what it makes. Only `serve` and
 * `init` reach accounts, only `ingest` writes what chains said. Principals are `User:<prefix><role>`.
 */
export const aclRows = (chains: readonly string[], prefix: string): readonly AclRow[] =>
  (Object.keys(RULES_BY_ROLE) as AclRole[]).flatMap((role) =>
    RULES_BY_ROLE[role](chains).map((row) => ({ principal: `User:${prefix}${role}`, ...row })),
  )

/** A rule as an operator reads it. */
export const aclLine = ({ principal, operation, resource, name, pattern }: AclRow): string =>
  `${principal}  ${operation}  ${resource}  ${name}${pattern === 'prefixed' ? '*' : ''}`
