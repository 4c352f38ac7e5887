import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aclLine, aclRows } from '../../cli/app/kafka-acl.ts'
import type { AclRow } from '../../core/bus/kafka/acl.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { TOPICS, type Topic, topicName } from '../../schemas/topics.ts'

const CHAIN_IDS = Object.keys(CHAINS)
const ROWS = aclRows(CHAIN_IDS, 'sluice-')

const allows = (role: string, topic: string, operation: AclRow['operation']): boolean =>
  ROWS.some(
    (row) =>
      row.principal === `User:sluice-${role}` &&
      row.resource === 'topic' &&
      row.operation === operation &&
      (row.pattern === 'prefixed' ? topic.startsWith(row.name) : row.name === topic),
  )

test('every topic of a chain has one writer role, and every role reads it', () => {
  const names = (Object.keys(TOPICS) as Topic[])
    .filter((topic) => TOPICS[topic].scope !== 'global')
    .map((topic) => topicName(topic, 'sol'))
  for (const name of names) {
    const writers = ['ingest', 'process', 'serve'].filter((role) => allows(role, name, 'write'))
    assert.equal(writers.length, 1, `${name}: ${writers}`)
    for (const role of ['ingest', 'process', 'serve'])
      assert.ok(allows(role, name, 'read'), `${role} reads ${name}`)
  }
})

test('accounts, charges and webhooks are reached by serving only', () => {
  for (const row of Object.values(TOPICS).filter(({ scope }) => scope === 'global')) {
    assert.ok(allows('serve', row.suffix, 'write') && allows('serve', row.suffix, 'read'))
    for (const role of ['ingest', 'process'])
      for (const operation of ['read', 'write', 'all'] as const)
        assert.equal(allows(role, row.suffix, operation), false, `${role} ${row.suffix}`)
  }
})

test('only the role init may create, alter or delete topics', () => {
  const wide = ROWS.filter(
    ({ resource, operation }) =>
      (resource === 'topic' || resource === 'cluster') &&
      ['all', 'alter', 'create', 'delete'].includes(operation),
  )
  assert.deepEqual([...new Set(wide.map(({ principal }) => principal))], ['User:sluice-init'])
})

test('a rule is one line that an operator can read', () => {
  const lines = aclRows(['eth'], 'a-').map(aclLine)
  assert.ok(lines.includes('User:a-ingest  write  topic  eth.blocks'))
  assert.ok(lines.includes('User:a-serve  read  topic  _control.*'))
})
