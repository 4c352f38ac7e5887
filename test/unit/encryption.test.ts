import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidInput } from '../../core/errors.ts'
import { makeSecretCipher } from '../../core/security/encryption.ts'

const refuses = (act: () => unknown): void => {
  assert.throws(act, (error) => error instanceof InvalidInput)
}

test('sealed text opens again, and never looks the same twice', () => {
  const sealer = makeSecretCipher('pepper', 'tests')
  for (const text of ['', 'a', 'ключ 🔑', 'x'.repeat(5_000)]) {
    const sealed = sealer.seal(text, 'row')
    assert.equal(sealer.open(sealed, 'row'), text)
    assert.notEqual(sealer.seal(text, 'row'), sealed)
  }
})

test('sealed text does not open with another secret, purpose or row, or with a changed byte', () => {
  const sealer = makeSecretCipher('pepper', 'tests')
  const sealed = sealer.seal('secret', 'row')
  refuses(() => makeSecretCipher('salt', 'tests').open(sealed, 'row'))
  refuses(() => makeSecretCipher('pepper', 'others').open(sealed, 'row'))
  refuses(() => sealer.open(sealed, 'another row'))
  refuses(() => sealer.open('', 'row'))
  for (let at = 0; at < Buffer.from(sealed, 'base64url').length; at += 1) {
    const changed = Buffer.from(sealed, 'base64url')
    changed[at] = (changed[at] ?? 0) ^ 1
    refuses(() => sealer.open(changed.toString('base64url'), 'row'))
  }
})
