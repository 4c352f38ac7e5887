/** New tokens of pump.fun: the instruction against those that the chain took, the first price, and every word of a request. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit'
import { base58Decode, base58Encode } from '../../core/base58.ts'
import { isEd25519Signature } from '../../core/ed25519.ts'
import { Fault } from '../../core/errors.ts'
import {
  parseBuyAmount,
  parseTokenText,
  parseTokenUri,
  requireLaunchpad,
} from '../../serving/dex/creation-terms.ts'
import { buyBaseExactIn, buyBaseExactOut } from '../../serving/dex/fee-on-quote.ts'
import { createV2, newCurveData, type PumpFunToken } from '../../serving/dex/pump-fun-create.ts'
import { newCurve } from '../../serving/dex/pump-fun-settings.ts'
import { associatedTokenAddress, TOKEN_2022_PROGRAM } from '../../serving/dex/solana-calls.ts'
import { createOneTimeKey, unsignedTransaction } from '../../serving/dex/solana-message.ts'
import { PUMP, PUMP_FEES, SOLANA_VENUES, WRAPPED_SOL } from '../../serving/dex/solana-venues.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import {
  type FeeTier,
  feeConfigData,
  globalData,
  INITIAL,
  RECORDED_TIER,
} from '../support/pump-fun-settings.ts'
import { recordedSwaps } from '../support/recorded-pools.ts'
import { recordedCall } from '../support/recorded-venue-calls.ts'

const CREATED = 'create_token_pumpfun_1.json'
const CREATED_AND_BOUGHT = 'pumpfun_create_from_blocksubscribe.json'
const CREATE_V2 = 'd6904cec5f8b31b4'

/** The recorded `create_v2` of a file: data, accounts, and what its transaction let it do with each. */
const recordedCreation = (file: string) => {
  const url = new URL(`../fixtures/sol/${file}`, import.meta.url)
  const { getTransaction } = JSON.parse(readFileSync(url, 'utf8'))
  const wire = Buffer.from(getTransaction.transaction[0], 'base64')
  const { messageBytes } = getTransactionDecoder().decode(wire)
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  assert.ok(message.version === 0)
  const { staticAccounts, header, instructions } = message
  const { writable = [], readonly = [] } = getTransaction.meta.loadedAddresses ?? {}
  const keys: readonly string[] = [...staticAccounts, ...writable, ...readonly]
  const isWritable = (at: number): boolean => {
    if (at >= staticAccounts.length) return at < staticAccounts.length + writable.length
    const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = header
    return at < numSignerAccounts
      ? at < numSignerAccounts - numReadonlySignerAccounts
      : at < staticAccounts.length - numReadonlyNonSignerAccounts
  }
  const call = instructions.find(
    ({ data, programAddressIndex }) =>
      keys[programAddressIndex] === PUMP &&
      Buffer.from(data ?? []).toString('hex', 0, 8) === CREATE_V2,
  )
  assert.ok(call)
  const data = Buffer.from(call.data ?? [])
  return {
    data,
    token: readToken(data, keys[call.accountIndices?.[0] ?? -1] ?? ''),
    accounts: (call.accountIndices ?? []).map((at) => [
      keys[at],
      at < header.numSignerAccounts ? 'sign' : isWritable(at) ? 'write' : 'read',
    ]),
  }
}

/** What the data of a `create_v2` says. */
const readToken = (data: Buffer, mint: string): PumpFunToken => {
  let at = 8
  const text = (): string => {
    const length = data.readUInt32LE(at)
    at += 4 + length
    return data.toString('utf8', at - length, at)
  }
  const [name, symbol, uri] = [text(), text(), text()]
  const creator = base58Encode(data.subarray(at, at + 32))
  const cashback = data[at + 33]
  return {
    mint,
    creator,
    name,
    symbol,
    uri,
    cashback: cashback === undefined ? undefined : cashback === 1,
  }
}

for (const file of [CREATED, CREATED_AND_BOUGHT]) {
  test(`${file}: accounts, their access and data equal those of the recorded instruction`, async () => {
    const recorded = recordedCreation(file)
    const built = await createV2(recorded.token)
    assert.equal(built.program, PUMP)
    assert.equal(Buffer.from(built.data).toString('hex'), recorded.data.toString('hex'))
    assert.deepEqual(
      built.accounts.map((each) => [...each]),
      recorded.accounts,
    )
  })
}

test('the recorded token creations are with and without a cashback flag', () => {
  const [first, second] = [CREATED, CREATED_AND_BOUGHT].map((file) => recordedCreation(file).token)
  assert.deepEqual([first?.name, first?.cashback], ['The Chosen Coin', true])
  assert.deepEqual([second?.name, second?.cashback], ['NYXORA', undefined])
  assert.equal(first?.mint, 'D7jZzYfXPEM572G9fBBWUqfwmHYLyeUYhAerv6hYpump')
})

test('a cashback flag of false is one byte longer than no flag', async () => {
  const { token } = recordedCreation(CREATED_AND_BOUGHT)
  const [none, refused] = await Promise.all(
    [undefined, false].map((cashback) => createV2({ ...token, cashback })),
  )
  assert.equal(
    Buffer.from(refused?.data ?? []).toString('hex'),
    `${Buffer.from(none?.data ?? []).toString('hex')}00`,
  )
})

test('texts of a token creation have their length in UTF-8 bytes', async () => {
  const token = { ...recordedCreation(CREATED).token, name: 'Café ☕', symbol: '☕', uri: '' }
  const { data } = await createV2(token)
  assert.deepEqual(readToken(Buffer.from(data), token.mint), token)
  assert.equal(Buffer.from(data).readUInt32LE(8), 9)
})

const venue = SOLANA_VENUES.pump_fun
const account = (owner: string, data: Uint8Array) => ({ owner, data, lamports: 1n })
const curveWith = (tiers?: readonly FeeTier[]) =>
  newCurve(account(PUMP, globalData()), account(PUMP_FEES, feeConfigData(tiers)))

test('the first purchase of a token has the accounts of the recorded one', async () => {
  const layout = { pool: {}, config: { 41: 1, 741: 17 } }
  const { instruction, at, state, swap } = recordedCall(CREATED_AND_BOUGHT, layout)
  const { token } = recordedCreation(CREATED_AND_BOUGHT)
  const bought = {
    ...({ pool: swap.pool, owner: token.creator, mode: 'exact_in', amountInRaw: 5n } as const),
    tokenIn: WRAPPED_SOL,
    tokenOut: token.mint,
    minOutRaw: 1n,
    maxInRaw: 5n,
    accountIn: addressFor('none'),
    programIn: TOKEN_2022_PROGRAM,
    accountOut: await associatedTokenAddress(token.creator, token.mint, TOKEN_2022_PROGRAM),
    programOut: TOKEN_2022_PROGRAM,
  }
  assert.equal(bought.accountOut, at(5))
  const built = await venue?.swap(bought, { pool: newCurveData(token), config: state.config })
  assert.deepEqual(
    built?.accounts.map(([key]) => key),
    instruction.accounts,
  )
  assert.equal(Buffer.from(built?.data ?? []).toString('hex', 0, 8), '38fc74089edfcd5f')
})

test('a new curve prices the recorded first purchase to the lamport', () => {
  const [swap] = recordedSwaps(CREATED_AND_BOUGHT).swaps
  assert.ok(swap)
  const curve = curveWith()
  assert.deepEqual(swap.pricing?.found, [curve.quote, curve.base])
  assert.deepEqual(swap.pricing?.feePips, curve.feePips)
  // The event counts what reached the curve: 0.95 % and 0.3 % of it came on top, each rounded up.
  const fees = 938_126n + 296_251n
  assert.equal(buyBaseExactOut(curve, swap.amountOutRaw), swap.amountInRaw + fees)
})

test('a purchase with a fee of one percent gives the published result', () => {
  const curve = curveWith([{ from: 0n, protocol: 100n, creator: 0n }])
  assert.equal(buyBaseExactIn(curve, 1_000_000_000n), 34_281_150_096_027n)
})

test('the fee of a new curve is that of the last tier that its first price reaches', () => {
  // 30 SOL for 1.073 of 1.0 thousand million tokens: all of them are worth 27.958993476 SOL.
  const cap = (INITIAL.sol * INITIAL.supply) / INITIAL.tokens
  assert.equal(cap, 27_958_993_476n)
  const tier = (from: bigint, protocol: bigint): FeeTier => ({ from, protocol, creator: 30n })
  const chosen = (...tiers: readonly FeeTier[]) => curveWith(tiers).feePips
  assert.deepEqual(chosen(tier(0n, 95n), tier(cap, 93n), tier(cap + 1n, 50n)), [9_300, 3_000])
  assert.deepEqual(chosen(tier(cap + 1n, 95n), tier(cap + 2n, 93n)), [9_500, 3_000])
  assert.deepEqual(chosen(tier(0n, 95n), tier(1n << 64n, 1n)), [9_500, 3_000])
})

const BROKEN: readonly (readonly [string, Parameters<typeof newCurve>])[] = (() => {
  const [global, fees] = [account(PUMP, globalData()), account(PUMP_FEES, feeConfigData())]
  const withGlobal = (data: Uint8Array, owner = PUMP) => [account(owner, data), fees] as const
  const withFees = (data: Uint8Array, owner = PUMP_FEES) => [global, account(owner, data)] as const
  const begun = (numbers: Partial<Record<keyof typeof INITIAL, bigint>>) =>
    withGlobal(globalData({ ...INITIAL, ...numbers }))
  const headless = globalData()
  headless[0] = 0
  const promised = feeConfigData()
  promised.writeUInt32LE(2, 65)
  const endless = feeConfigData()
  endless.writeUInt32LE(0xff_ff_ff_ff, 65)
  return [
    ['no settings', [undefined, fees]],
    ['no fees', [global, undefined]],
    ['settings of another program', [...withGlobal(globalData(), PUMP_FEES)]],
    ['fees of another program', [...withFees(feeConfigData(), PUMP)]],
    ['settings that end early', [...withGlobal(globalData().subarray(0, 772))]],
    ['another account of the program', [...withGlobal(headless)]],
    ['fees without a tier', [...withFees(feeConfigData([]))]],
    ['fees that end within a tier', [...withFees(promised)]],
    ['fees with more tiers than there is room for', [...withFees(endless)]],
    ['fees above half', [...withFees(feeConfigData([{ ...RECORDED_TIER, protocol: 5_001n }]))]],
    ['curves without tokens', [...begun({ tokens: 0n })]],
    ['curves without SOL', [...begun({ sol: 0n })]],
    ['curves with nothing for sale', [...begun({ forSale: 0n })]],
    ['curves that sell more than they price with', [...begun({ forSale: INITIAL.tokens })]],
  ]
})()
for (const [what, accounts] of BROKEN) {
  test(`${what}: a new curve is refused`, () => {
    assert.throws(() => newCurve(...accounts), refusal('DEX_ROUTE_BUILD_FAILED'))
  })
}

const refusal = (name: string) => (error: unknown) =>
  error instanceof Fault && error.faultName === name

const refuses = (name: string, work: () => unknown): void => assert.throws(work, refusal(name))

test('launchpads: pump.fun is accepted, others are refused as unsupported, the rest as unknown', () => {
  for (const word of ['pumpfun', 'pump_fun']) requireLaunchpad(word)
  for (const word of ['raydium', 'moonshot', 'candy', 'launchpad', 'raydium_launchlab'])
    refuses('DEX_NOT_SUPPORTED', () => requireLaunchpad(word))
  for (const word of ['', 'PumpFun', 'nowhere', 'raydium_cpmm', 'constructor'])
    refuses('DEX_NOT_FOUND', () => requireLaunchpad(word))
})

test('token names and symbols are limited in bytes, and invisible characters are refused', () => {
  assert.equal(parseTokenText('name', 'x'.repeat(32)), 'x'.repeat(32))
  assert.equal(parseTokenText('symbol', 'é'.repeat(5)), 'é'.repeat(5))
  const wrong: readonly (readonly ['name' | 'symbol', string])[] = [
    ['name', ''],
    ['name', '  '],
    ['name', 'x'.repeat(33)],
    ['name', 'é'.repeat(17)],
    ['name', 'a\u0000b'],
    ['name', 'a\nb'],
    ['name', 'a\ud800'],
    ['symbol', ''],
    ['symbol', 'x'.repeat(11)],
    ['symbol', '☕☕☕☕'],
  ]
  for (const [of, text] of wrong) refuses('INVALID_PARAMETER', () => parseTokenText(of, text))
})

test('a token uri is a URL of at most 200 bytes, or absent', () => {
  assert.equal(parseTokenUri(undefined), '')
  const longest = `https://e.x/${'é'.repeat(94)}`
  for (const uri of ['ipfs://Qm', 'ar://x', 'http://e.x', longest])
    assert.equal(parseTokenUri(uri), uri)
  const wrong = ['', 'x', 'javascript:1', 'data:,x', 'https://', 'https://e.x/a b', `${longest}x`]
  for (const uri of wrong) refuses('INVALID_PARAMETER', () => parseTokenUri(uri))
})

test('a first purchase is a whole number of lamports in 64 bits', () => {
  assert.equal(parseBuyAmount('1'), 1n)
  assert.equal(parseBuyAmount(1_000_000_000), 1_000_000_000n)
  assert.equal(parseBuyAmount(String(2n ** 64n - 1n)), 2n ** 64n - 1n)
  const wrong: readonly (readonly [string | number, string])[] = [
    ...([0, '0', '000'] as const).map((given) => [given, 'AMOUNT_TOO_SMALL'] as const),
    ...(['-1', '1.5', '', '1e9', ' 1', 'auto', '50%', -1, 1.5, 2 ** 53, Number.NaN] as const).map(
      (given) => [given, 'INVALID_AMOUNT'] as const,
    ),
    [String(2n ** 64n), 'AMOUNT_TOO_LARGE'],
    [String(2n ** 256n), 'AMOUNT_TOO_LARGE'],
  ]
  for (const [given, name] of wrong) refuses(name, () => parseBuyAmount(given))
})

const LIFETIME = { blockhash: addressFor('a recent block'), lastValidBlockHeight: 9 }

test('a one-time key signs a transaction that names it, once, and exposes no secret', async () => {
  const key = await createOneTimeKey()
  const payer = addressFor('payer')
  const token = { ...recordedCreation(CREATED).token, mint: key.address, creator: payer }
  const unsigned = unsignedTransaction(payer, LIFETIME, [await createV2(token)])
  const signed = getTransactionDecoder().decode(getBase64Encoder().encode(await key.sign(unsigned)))
  assert.deepEqual(Object.keys(signed.signatures), [payer, key.address])
  const { [payer]: byPayer, [key.address]: byMint } = signed.signatures as Record<
    string,
    Uint8Array | null
  >
  assert.equal(byPayer, null)
  const message = Uint8Array.from(signed.messageBytes)
  const publicKey = base58Decode(key.address) ?? new Uint8Array()
  assert.ok(byMint && isEd25519Signature(Uint8Array.from(byMint), message, publicKey))
  await assert.rejects(() => key.sign(unsigned), /signed already/)
  assert.deepEqual(Object.keys(key), ['address', 'sign'])
  assert.notEqual((await createOneTimeKey()).address, key.address)
})

test('a one-time key refuses a transaction that does not name it', async () => {
  const key = await createOneTimeKey()
  const { token } = recordedCreation(CREATED)
  const unsigned = unsignedTransaction(token.creator, LIFETIME, [await createV2(token)])
  await assert.rejects(() => key.sign(unsigned))
})

test('a program is refused as the fee payer of its own call', async () => {
  const call = await createV2({ ...recordedCreation(CREATED).token, creator: PUMP })
  refuses('INVALID_ADDRESS', () => unsignedTransaction(PUMP, LIFETIME, [call]))
})
