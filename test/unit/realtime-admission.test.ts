import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeErrorBoundary } from '../../core/ops/error-boundary.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { AdmissionControl } from '../../serving/realtime/admission.ts'

test('admission counts pending connections by address, accepted ones by organization, open ones in total, and each call once', () => {
  const admission = new AdmissionControl({
    connections: 3,
    pendingPerAddress: 2,
    connectionsPerOrg: 2,
  })
  const first = admission.opened('a')
  const second = admission.opened('a')
  assert.equal(admission.refusal('a')?.fault.faultName, 'RATE_LIMIT')
  assert.equal(admission.refusal('b'), undefined)
  first.accepted('org')
  first.accepted('org')
  assert.ok(admission.hasRoomFor('org'))
  assert.equal(admission.refusal('a'), undefined)
  const third = admission.opened('b')
  assert.equal(admission.refusal('c')?.fault.faultName, 'SERVER_BUSY')
  third.accepted('org')
  assert.ok(!admission.hasRoomFor('org'))
  assert.ok(admission.hasRoomFor('other'))
  second.closed()
  second.closed()
  second.accepted('other')
  assert.equal(admission.refusal('c'), undefined)
  first.closed()
  third.closed()
  assert.equal(admission.pendingAddresses, 0)
  assert.equal(admission.organizations, 0)
})

test('the error boundary counts every error, logs one per second and kind, and survives errors of its handler', async () => {
  const metrics = makeMetrics()
  const lines: unknown[] = []
  const log = makeSilentLogger()
  log.error = (facts: unknown): void => void lines.push(facts)
  let nowMs = 0
  const boundary = makeErrorBoundary({ surface: 'streams', metrics, log, nowMs: () => nowMs })
  const bug = (): never => {
    throw new Error('bug')
  }
  const undone: string[] = []
  boundary.run('message', bug, () => undone.push('message'))
  boundary.run('message', bug, bug)
  boundary.run('open', () => undefined, bug)
  assert.deepEqual(undone, ['message'])
  assert.equal(lines.length, 1)
  nowMs = 1_000
  boundary.failed('message', new Error('bug'))
  assert.equal(lines.length, 2)
  const text = await metrics.registry.getSingleMetricAsString('sluice_edge_errors_total')
  assert.match(text, /sluice_edge_errors_total\{surface="streams",reason="message"\} 4/)
})
