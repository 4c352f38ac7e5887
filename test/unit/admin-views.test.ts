import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Value } from 'typebox/value'
import { KeyCreate } from '../../schemas/api/admin.ts'
import { apiKeyBody, parseExpiry } from '../../serving/http/admin-bodies.ts'

const NOW = Date.UTC(2026, 10, 20)
const YEAR = 31_556_952_000

const shownEnd = (expiresAtMs: number): string | null =>
  apiKeyBody(
    {
      key_id: 'key_1',
      prefix: 'sluice_live_',
      hash: '',
      app_id: 'app_1',
      org_id: 'org_1',
      scopes: [],
      expires_at: expiresAtMs,
      created_at: NOW,
      version: 1,
      name: '',
    },
    undefined,
  ).expiresAt

test('the expiry of a key is a time in the next hundred years, in milliseconds or ISO format', () => {
  assert.equal(parseExpiry(NOW + 1, NOW), NOW + 1)
  assert.equal(parseExpiry('2027-01-01T00:00:00.000Z', NOW), Date.UTC(2027, 0, 1))
  assert.equal(
    shownEnd(parseExpiry(NOW + 100 * YEAR, NOW)),
    new Date(NOW + 100 * YEAR).toISOString(),
  )
  const wrong = [
    NOW,
    0,
    -1,
    'soon',
    NOW + 100 * YEAR + 1,
    8.64e15,
    8.64e15 + 1,
    1e300,
    '+275760-01-01',
  ]
  for (const value of wrong) {
    assert.throws(() => parseExpiry(value, NOW), { name: 'Fault', code: 40002 }, String(value))
  }
})

test('the schema of a new key rejects times beyond the range of a date', () => {
  assert.ok(Value.Check(KeyCreate, { expiresAt: 8.64e15 }))
  assert.ok(!Value.Check(KeyCreate, { expiresAt: 8.64e15 + 1_000 }))
})
