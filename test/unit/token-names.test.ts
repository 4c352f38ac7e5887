import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenNames } from '../../serving/realtime/token-names.ts'

test('tokens without a name are given once, and again after the record that asked for them was left out', () => {
  const names = new TokenNames()
  names.learn('eth', '0xb', { name: 'B', symbol: 'B', decimals: 18 })
  assert.equal(names.get('eth', '0xa'), undefined)
  assert.equal(names.get('eth', '0xb')?.name, 'B')
  assert.deepEqual(names.takeMissing(), ['0xa'])
  names.get('eth', '0xa')
  assert.deepEqual(names.takeMissing(), [], 'looked up before')

  names.get('eth', '0xc')
  names.dropMissing()
  names.get('sol', 'S')
  assert.deepEqual(names.takeMissing(), ['S'], 'none of the record that was left out')
  names.get('eth', '0xc')
  assert.deepEqual(names.takeMissing(), ['0xc'])
})
