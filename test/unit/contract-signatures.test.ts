import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Fault, InvalidInput, Outage } from '../../core/errors.ts'
import { type CallEndpoint, RpcError, type RpcPool } from '../../core/rpc/pool.ts'
import {
  createContractSignatures,
  type SignatureAnswer,
  verifySignature,
} from '../../serving/auth/contract-signatures.ts'
import { evmWallet, solanaWallet } from '../support/wallet-signer.ts'

const MAGIC_WORD = `0x1626ba7e${'0'.repeat(56)}`
const CALLER = '192.0.2.1'
const signed = {
  kind: 'evm',
  address: `0x${'ab'.repeat(20)}`,
  message: 'hello',
  signature: '0x1234',
} as const

/** One endpoint, as a pool asks it. */
const poolOf = (ask: CallEndpoint): Pick<RpcPool, 'attempt'> => ({ attempt: (work) => work(ask) })
const contractsOf = (ask: CallEndpoint, deadlineMs?: number) => {
  const pool = poolOf(ask)
  return createContractSignatures({
    nodes: () => pool,
    ...(deadlineMs !== undefined && { deadlineMs }),
  })
}
const shown = (answer: SignatureAnswer): unknown =>
  answer instanceof Fault ? [answer.code, answer.details?.reason] : answer
const DOWN = [50002, 'unchecked_signature']
const BUSY = [50301, 'unchecked_signature']
const NO_NODE = [50018, 'unchecked_signature']

test('the eth_call has the wallet, the EIP-191 hash and a gas limit', async () => {
  const calls: unknown[] = []
  const contracts = contractsOf(async (call) => {
    calls.push(call)
    return MAGIC_WORD
  })
  assert.equal(await contracts.check(signed, CALLER), 'good')
  // keccak256 of the EIP-191 text of `hello`, as the examples of several libraries give it.
  const hash = '50b2c43fd39106bafbba0da34fc430e1f91e3c96ea2acee2bc34119f92b37750'
  const word = (value: string): string => value.padStart(64, '0')
  const data = `0x1626ba7e${hash}${word('40')}${word('2')}${'1234'.padEnd(64, '0')}`
  assert.deepEqual(calls, [
    { method: 'eth_call', params: [{ to: signed.address, data, gas: '0x989680' }, 'latest'] },
  ])
})

test('the result or revert of a call decides the signature, an error of the node leaves it undecided', async () => {
  for (const [result, expected] of [
    [MAGIC_WORD, 'good'],
    [`${MAGIC_WORD}00`, 'good'],
    ['0x', 'wrong'],
    ['0x1626ba7e', 'wrong'],
    [`0x1626ba7e${'f'.repeat(56)}`, 'wrong'],
    [`0x${'1626ba7e'.padStart(64, '0')}`, 'wrong'],
    ['0x01', 'wrong'],
    [new RpcError(3, 'execution reverted', '0x'), 'wrong'],
    [new RpcError(-32_000, 'out of gas', undefined), 'wrong'],
    [new RpcError(-32_000, 'invalid opcode: opcode 0xfe not defined', undefined), 'wrong'],
    [new RpcError(-32_015, 'VM execution error.', undefined), 'wrong'],
    [new RpcError(-32_603, 'EVM error OutOfGas', undefined), 'wrong'],
    [new RpcError(-32_005, 'daily request limit reached', undefined), DOWN],
    [new RpcError(-32_000, 'header not found', undefined), DOWN],
    [new RpcError(-32_000, 'execution aborted (timeout = 5s)', undefined), DOWN],
    [new RpcError(-32_601, 'the method eth_call does not exist', undefined), DOWN],
    [new Outage('rpc', 'the node did not answer'), DOWN],
    [new InvalidInput('rpc-wrong-id', 'the node answered another call'), DOWN],
    [null, DOWN],
    [{ toString: 1 }, DOWN],
  ] as const) {
    const contracts = contractsOf(async () => {
      if (result instanceof Error) throw result
      return result
    })
    assert.deepEqual(shown(await contracts.check(signed, CALLER)), expected, inspect(result))
  }
})

test('an ERC-6492 signature is verified by the validator, in a call without an address', async () => {
  const magic = '6492'.repeat(16)
  for (const [result, expected] of [
    ['0x01', 'good'],
    ['0x00', 'wrong'],
    [MAGIC_WORD, 'wrong'],
    ['0x', 'wrong'],
  ] as const) {
    const contracts = contractsOf(async ({ params: [call] }) => {
      assert.ok(typeof call === 'object' && call !== null && !('to' in call))
      return result
    })
    const answer = await contracts.check({ ...signed, signature: `0x00${magic}` }, CALLER)
    assert.equal(answer, expected)
  }
})

test('without a node a signature of 65 bytes is wrong and one of another length undecided', async () => {
  const contracts = createContractSignatures({ nodes: () => undefined })
  const verify = async (signature: string, kind: 'evm' | 'solana' = 'evm') => {
    const { address } = kind === 'evm' ? evmWallet(0x11) : solanaWallet(0x11)
    const asked = { kind, address: address.toLowerCase(), message: 'hello', signature }
    return shown(await verifySignature(contracts, asked, CALLER))
  }
  assert.equal(await verify(await evmWallet(0x11).sign('hello')), 'good')
  assert.equal(await verify(await evmWallet(0x12).sign('hello')), 'wrong')
  assert.deepEqual(await verify(`${await evmWallet(0x11).sign('hello')}00`), NO_NODE)
  assert.deepEqual(await verify('0x'), NO_NODE)
  assert.equal(await verify('0x1'), 'wrong')
  assert.equal(await verify('0x1234', 'solana'), 'wrong')
})

test('concurrent checks are bounded per address and in all, and equal ones share one call', async () => {
  const waiting: (() => void)[] = []
  const contracts = contractsOf(
    () => new Promise((resolve) => waiting.push(() => resolve(MAGIC_WORD))),
  )
  const ask = (n: number, caller: string) =>
    contracts.check({ ...signed, signature: `0x${String(n).padStart(4, '0')}` }, caller)
  const answers = Array.from({ length: 10 }, (_, n) => ask(n, `2001:db8::${n}`))
  const again = ask(0, '192.0.2.9')
  const others = Array.from({ length: 40 }, (_, n) => ask(100 + n, `192.0.2.${n}`))
  assert.equal(waiting.length, 32)
  for (const answer of waiting) answer()
  const shownAll = async (all: readonly Promise<SignatureAnswer>[]) =>
    (await Promise.all(all)).map(shown)
  assert.deepEqual(await shownAll(answers), [...Array(8).fill('good'), BUSY, BUSY])
  assert.equal(await again, 'good')
  assert.deepEqual(await shownAll(others), [...Array(24).fill('good'), ...Array(16).fill(BUSY)])
  const later = ask(1, '2001:db8::1')
  assert.equal(waiting.length, 33)
  waiting.at(-1)?.()
  assert.equal(await later, 'good')
})

test('a caller waits until the deadline, and the check holds its place until the node answers', async () => {
  const waiting: (() => void)[] = []
  const contracts = contractsOf(
    () => new Promise((resolve) => waiting.push(() => resolve(MAGIC_WORD))),
    20,
  )
  assert.deepEqual(shown(await contracts.check(signed, CALLER)), DOWN)
  const again = contracts.check(signed, CALLER)
  assert.equal(waiting.length, 1)
  waiting[0]?.()
  assert.equal(await again, 'good')
})
