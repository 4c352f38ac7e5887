import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyReply } from 'fastify'
import { Fault } from '../../core/errors.ts'
import type { ChainNodes } from '../../core/rpc/chain-nodes.ts'
import { createTransactionSender } from '../../serving/http/transaction-sender.ts'
import type { JobStore } from '../../serving/jobs/job-store.ts'

/** Names of the errors of texts that are sent one after the other in one moment; a pool that is asked ends the test. */
const errorsOf = async (
  chain: string,
  { texts, hasNode }: { readonly texts: readonly string[]; readonly hasNode: boolean },
): Promise<readonly string[]> => {
  const send = createTransactionSender({
    nodes: { of: () => (hasNode ? {} : undefined) } as unknown as ChainNodes,
    protectedNodes: { of: () => undefined },
    jobs: {} as JobStore,
    nowMs: () => 0,
  })
  const reply = { header: () => undefined } as unknown as FastifyReply
  const errors: string[] = []
  for (const signedTx of texts) {
    const request = {
      orgId: 'org_a',
      chain: { id: chain, word: chain, enabled: true },
      signedTx,
      isProtected: false,
    }
    const error = await send(request, reply).catch((reason: unknown) => reason)
    assert.ok(error instanceof Fault, String(error))
    errors.push(error.faultName)
  }
  return errors
}

test('without a node nothing is read, and nothing counts', async () => {
  const texts = Array.from({ length: 100 }, () => 'no transaction')
  for (const chain of ['sol', 'eth'])
    assert.deepEqual(
      new Set(await errorsOf(chain, { texts, hasNode: false })),
      new Set(['PROVIDER_NOT_INITIALIZED']),
    )
})

test('texts that are read are counted by their length', async () => {
  const readOf = async (length: number): Promise<number> => {
    const texts = Array.from({ length: 50 }, () => `0x${'ff'.repeat(length / 2)}`)
    const errors = await errorsOf('eth', { texts, hasNode: true })
    assert.deepEqual(
      errors.filter((name) => name !== 'RATE_LIMIT').length,
      errors.indexOf('RATE_LIMIT'),
    )
    return errors.indexOf('RATE_LIMIT')
  }
  // A burst of two seconds.
  assert.equal(await readOf(200), 40)
  assert.equal(await readOf(8_190), 40)
  assert.equal(await readOf(8_192), 20)
  assert.equal(await readOf(131_072), 2)
  assert.equal(await readOf(262_144), 2)
})
