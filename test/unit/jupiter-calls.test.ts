import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { getCompiledTransactionMessageDecoder, getTransactionDecoder } from '@solana/kit'
import { type JupiterTerms, readJupiterCalls } from '../../serving/dex/aggregators/jupiter-calls.ts'
import {
  computeLimit,
  computePrice,
  createTokenAccount,
  dataOf,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
  transferSol,
  unwrapSol,
  wrapSol,
} from '../../serving/dex/solana-calls.ts'
import type { SolanaInstruction } from '../../serving/dex/solana-message.ts'
import { readUnsignedSolanaTransaction } from '../../serving/dex/solana-signed-transaction.ts'
import { TIP_ACCOUNTS } from '../../serving/dex/solana-tip.ts'
import { addressFor } from '../support/builders/svm-block.ts'

const JUPITER = 'JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4'
const [OWNER, STRANGER, MINT] = ['owner', 'stranger', 'mint'].map(addressFor) as [
  string,
  string,
  string,
]
const [WRAPPED, OUT] = ['wrapped', 'out'].map(addressFor) as [string, string]
const SOL = 1_000_000_000n
const TERMS: JupiterTerms = {
  mode: 'exact_in',
  owner: OWNER,
  accountIn: WRAPPED,
  accountOut: OUT,
  wrapped: WRAPPED,
  inAmountRaw: SOL,
  outAmountRaw: 250n,
  maxInRaw: SOL,
  slippageBps: 100,
  priorityFee: 5_000n,
  tip: 0n,
}

interface SwapWords {
  readonly name?: string
  readonly inRaw?: bigint
  readonly outRaw?: bigint
  readonly slippage?: number
  readonly fee?: number
  readonly accounts?: readonly string[]
}
/** route_v2: authority, source, destination, mints, token programs, another destination; amounts, slippage, fees, no steps. */
const swap = (words: SwapWords = {}): SolanaInstruction => {
  const { name = 'bb64facc31c4af14', inRaw = SOL, outRaw = 250n, slippage = 100, fee = 0 } = words
  const rest = Buffer.alloc(10)
  rest.writeUInt16LE(slippage, 0)
  rest.writeUInt16LE(fee, 2)
  const { accounts = [OWNER, WRAPPED, OUT, MINT, MINT, TOKEN_PROGRAM, TOKEN_PROGRAM, JUPITER] } =
    words
  const data = Buffer.concat([dataOf(name, inRaw, outRaw), rest])
  return { program: JUPITER, accounts: accounts.map((each) => [each, 'write'] as const), data }
}
const create = (account: string, wallet = OWNER) =>
  createTokenAccount(OWNER, MINT, { account, tokenProgram: TOKEN_PROGRAM, wallet })
const token = (data: string, ...accounts: readonly string[]): SolanaInstruction => ({
  program: TOKEN_PROGRAM,
  accounts: accounts.map((each) => [each, 'write'] as const),
  data: Buffer.from(data, 'hex'),
})
const read = (instructions: readonly SolanaInstruction[], terms: Partial<JupiterTerms> = {}) =>
  readJupiterCalls(
    instructions.map(({ program, accounts, data }) => ({
      program,
      data,
      accounts: accounts.map(([account]) => account),
    })),
    { ...TERMS, ...terms },
  )
const usual = [
  computeLimit(200_000),
  computePrice(25_000n),
  create(WRAPPED),
  ...wrapSol(OWNER, WRAPPED, SOL),
  create(OUT),
  swap(),
  unwrapSol(OWNER, WRAPPED),
]

test('a swap with its fee, its accounts, what it wraps and a tip is taken, and its new accounts are returned', () => {
  assert.deepEqual(read(usual), [WRAPPED, OUT])
  const tipped = [swap(), transferSol(OWNER, TIP_ACCOUNTS[0], 1_000n)]
  assert.deepEqual(read(tipped, { tip: 1_000n }), [])
  const exactOut = swap({ name: '9d8ab85215f4f324', inRaw: 250n, outRaw: SOL })
  assert.deepEqual(read([exactOut], { mode: 'exact_out' }), [])
  const shared = {
    name: 'd19853937cfed8e907',
    accounts: [STRANGER, OWNER, WRAPPED, MINT, MINT, OUT],
  }
  assert.deepEqual(read([swap(shared)]), [])
  const made: SolanaInstruction = {
    program: JUPITER,
    accounts: [STRANGER, OWNER, MINT].map((each) => [each, 'write'] as const),
    data: Buffer.from('93f17b64f484ae76ff', 'hex'),
  }
  const sale = { accountIn: OUT, accountOut: WRAPPED }
  const over = swap({ accounts: [OWNER, OUT, STRANGER, ...Array(4).fill(MINT), JUPITER] })
  assert.deepEqual(read([made, over, unwrapSol(OWNER, STRANGER)], sale), [STRANGER])
  assert.equal(read([over, unwrapSol(OWNER, STRANGER)], sale), 'the swap pays another account')
})

test('whatever a swap does not need is refused', () => {
  const accounts = (places: Readonly<Record<number, string>>) =>
    [OWNER, WRAPPED, OUT, MINT, MINT, MINT, MINT, JUPITER].map((each, at) => places[at] ?? each)
  const cases: readonly (readonly [readonly SolanaInstruction[], RegExp])[] = [
    [[transferSol(OWNER, STRANGER, 49n * SOL)], /transfers SOL to another account/],
    [[...usual, transferSol(OWNER, STRANGER, 1n)], /transfers SOL to another account/],
    [[...usual, transferSol(OWNER, WRAPPED, 1n)], /wraps more/],
    [[...usual, transferSol(OWNER, TIP_ACCOUNTS[1], 1n)], /larger tip/],
    [
      [...usual, { ...transferSol(OWNER, WRAPPED, 1n), data: dataOf('01000000', 1n) }],
      /more than transfer SOL/,
    ],
    [[computePrice(3_573n), swap()], /larger fee/],
    [[computeLimit(200_000), computePrice(25_002n), swap()], /larger fee/],
    [[create(OUT, STRANGER), swap()], /account of another wallet/],
    [[swap(), token('09', OUT, OWNER, OWNER)], /more with tokens/],
    [[swap(), token('09', WRAPPED, STRANGER, OWNER)], /more with tokens/],
    [[swap(), token('09', STRANGER, OWNER, OWNER)], /more with tokens/],
    [[swap(), token('030100000000000000', WRAPPED, STRANGER, OWNER)], /more with tokens/],
    [[swap(), token('040100000000000000', WRAPPED, STRANGER, OWNER)], /more with tokens/],
    [[swap(), token('0602', WRAPPED, OWNER)], /more with tokens/],
    [[swap(), { ...token('11', WRAPPED), program: TOKEN_2022_PROGRAM }], /another program/],
    [[swap(), { program: STRANGER, accounts: [], data: new Uint8Array() }], /another program/],
    [[computeLimit(200_000)], /not one swap/],
    [[swap(), swap()], /not one swap/],
    [[swap({ inRaw: SOL + 1n })], /another amount/],
    [[swap({ outRaw: 249n })], /another amount/],
    [[swap({ slippage: 101 })], /more slippage/],
    [[swap({ fee: 1 })], /takes a fee/],
    [[swap({ accounts: accounts({ 0: STRANGER }) })], /sells from another/],
    [[swap({ accounts: accounts({ 1: STRANGER }) })], /sells from another/],
    [[swap({ accounts: accounts({ 2: STRANGER }) })], /pays another account/],
    [[swap({ accounts: accounts({ 7: STRANGER }) })], /pays another account/],
    [[swap({ name: '9d8ab85215f4f324' })], /another swap/],
    [[swap({ name: 'e517cb977ae3ad2a' })], /another swap/],
    [[{ ...swap(), data: swap().data.subarray(0, 27) }], /no amounts/],
  ]
  for (const [instructions, reason] of cases) assert.match(String(read(instructions)), reason)
  const other = { accountIn: OUT, accountOut: WRAPPED }
  const unsold = [transferSol(OWNER, WRAPPED, 1n), swap()]
  assert.match(String(read(unsold, other)), /transfers SOL to another account/)
})

interface Recorded {
  readonly getTransaction: {
    readonly transaction: readonly [string, string]
    readonly meta: { readonly loadedAddresses: Record<'writable' | 'readonly', readonly string[]> }
  }
}

/** Look-up tables that have at each place what the chain loaded from there. */
const tablesOf = (text: string, loaded: Record<'writable' | 'readonly', readonly string[]>) => {
  const { messageBytes } = getTransactionDecoder().decode(Buffer.from(text, 'base64'))
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  const lookups = 'addressTableLookups' in message ? (message.addressTableLookups ?? []) : []
  const left = { writable: [...loaded.writable], readonly: [...loaded.readonly] }
  return Object.fromEntries(
    lookups.map(({ lookupTableAddress, writableIndexes, readonlyIndexes }) => {
      const held = Array<string>(256).fill(MINT)
      for (const index of writableIndexes) held[index] = left.writable.shift() ?? MINT
      for (const index of readonlyIndexes) held[index] = left.readonly.shift() ?? MINT
      return [lookupTableAddress, held]
    }),
  )
}

test('recorded swaps of Jupiter are read: their accounts over look-up tables, their amounts and their fees', async () => {
  const recorded = async (name: string) => {
    const text = readFileSync(new URL(`../fixtures/sol/${name}.json`, import.meta.url), 'utf8')
    const { transaction, meta } = (JSON.parse(text) as Recorded).getTransaction
    const message = await readUnsignedSolanaTransaction(transaction[0])
    assert.ok(message !== undefined)
    return { message, tables: tablesOf(transaction[0], meta.loadedAddresses) }
  }
  const { message } = await recorded('swap_raydium_launchpad_1')
  const whole = message.resolve({})
  const [limit, price, account, route, close] = whole?.instructions ?? []
  assert.ok(limit && price && account && route && close)
  assert.equal(route.program, JUPITER)
  const [, owner = '', source = '', destination = ''] = route.accounts
  assert.deepEqual(message.signers, [owner])
  const terms = {
    ...TERMS,
    owner,
    accountIn: source,
    accountOut: destination,
    wrapped: destination,
    slippageBps: 10_000,
    priorityFee: 10n ** 9n,
  }
  const isVersion1 = /for another swap/
  assert.match(String(readJupiterCalls(whole?.instructions ?? [], terms)), isVersion1)
  assert.deepEqual(whole?.writable.slice(0, 1), [owner])

  const shared = await recorded('swap_raydium_v4_1')
  assert.equal(shared.message.resolve({}), undefined, 'without its tables')
  const swaps = shared.message.resolve(shared.tables)?.instructions ?? []
  const [, trader = '', sold = '', , , bought = ''] = swaps[2]?.accounts ?? []
  assert.deepEqual(shared.message.signers, [trader])
  const said = {
    ...terms,
    owner: trader,
    accountIn: sold,
    accountOut: bought,
    wrapped: MINT,
    inAmountRaw: 0x01ff_8d66_01n,
    outAmountRaw: 0x06_4fda_be5fn,
    slippageBps: 100,
  }
  assert.match(String(readJupiterCalls(swaps, said)), /takes a fee/, 'ten basis points')
  const less = { ...said, slippageBps: 99 }
  assert.match(String(readJupiterCalls(swaps, less)), /more slippage/)
  const more = { ...said, inAmountRaw: said.inAmountRaw + 1n }
  assert.match(String(readJupiterCalls(swaps, more)), /another amount/)
})
