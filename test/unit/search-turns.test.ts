import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import type { FastifyReply } from 'fastify'
import { Fault } from '../../core/errors.ts'
import { maxConcurrentQueries, PLANS } from '../../schemas/plans.ts'
import { createSearchTurns } from '../../serving/http/search-turns.ts'
import type { Principal } from '../../serving/interfaces.ts'

const principal = (orgId: string): Principal => ({
  kind: 'api-key',
  orgId,
  appId: orgId,
  credentialId: orgId,
  plan: 'free',
  scopes: [],
  expiresAtMs: null,
})
const answer = () => {
  const raw = new PassThrough()
  return { raw, reply: { raw } as unknown as FastifyReply }
}
/** Takes the thread for so long, and finds nothing. */
const refused = (ms: number) => (): never => {
  const untilMs = performance.now() + ms
  while (performance.now() < untilMs);
  throw new Fault('DEX_ROUTE_BUILD_FAILED')
}

test('after a long search without a route the next of the same organization waits, those of others do not', async () => {
  const searches = createSearchTurns()
  const order: string[] = []
  const begin = (orgId: string, name: string, ms: number) =>
    searches(
      principal(orgId),
      answer().reply,
    )(refused(ms)).catch((error: unknown) => {
      assert.ok(error instanceof Fault)
      order.push(name)
    })
  const startedMs = performance.now()
  const [first, second] = [begin('a', 'a1', 60), begin('a', 'a2', 0)]
  await first
  await begin('b', 'b1', 0)
  await second
  assert.deepEqual(order, ['a1', 'b1', 'a2'])
  assert.ok(performance.now() - startedMs >= 60 + 4 * (60 - 20) - 5)
})

test('an organization has as many searches at the same time as its plan has queries, until their answers are out', async () => {
  const searches = createSearchTurns()
  const held = Array.from({ length: maxConcurrentQueries(PLANS.free) }, answer)
  for (const { reply } of held) searches(principal('a'), reply)
  const next = () => searches(principal('a'), answer().reply)
  assert.throws(next, (error) => error instanceof Fault && error.faultName === 'CONCURRENCY_LIMIT')
  searches(principal('b'), answer().reply)
  held[0]?.raw.destroy()
  await new Promise((resolve) => setImmediate(resolve))
  next()
})
