import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit'
import { Fault } from '../../core/errors.ts'
import {
  associatedTokenAddress,
  computeLimit,
  computePrice,
  createTokenAccount,
  TOKEN_PROGRAM,
  unwrapSol,
  wrapSol,
} from '../../serving/dex/solana-calls.ts'
import {
  MAX_TRANSACTION_BYTES,
  type SolanaInstruction,
  unsignedTransaction,
} from '../../serving/dex/solana-message.ts'
import { solanaVenue, type VenueSwap, WRAPPED_SOL } from '../../serving/dex/solana-venues.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import { recordedCall, type StateLayout } from '../support/recorded-venue-calls.ts'

interface LayoutCase {
  readonly file: string
  readonly nth?: number
  readonly protocol: string
  readonly layout: StateLayout
  /** Places of the accounts of what is sold and bought, their programs, and the pool and the owner. */
  readonly places: Readonly<Record<'owner' | 'in' | 'out' | 'programIn' | 'programOut', number>>
  readonly of: string
}

const AMM_BUY = { owner: 1, in: 6, out: 5, programIn: 12, programOut: 11 } as const
const AMM_SELL = { owner: 1, in: 5, out: 6, programIn: 11, programOut: 12 } as const
const AMM_POOL = { 43: 3, 75: 4, 139: 7, 171: 8 } as const
const AMM_CREATOR = { inEvent: 320, inPool: 211 } as const
const CURVE_CREATOR = { inEvent: 185, inPool: 49 } as const

const CASES: readonly LayoutCase[] = [
  {
    file: 'swap_bloom_1.json',
    protocol: 'pumpswap',
    of: 'a purchase on PumpSwap',
    layout: { pool: AMM_POOL, config: { 57: 9, 643: 24 }, creator: AMM_CREATOR },
    places: AMM_BUY,
  },
  {
    file: 'swap_photon_1.json',
    protocol: 'pumpswap',
    of: 'a sale on PumpSwap',
    layout: { pool: AMM_POOL, config: { 57: 9, 643: 22 }, creator: AMM_CREATOR },
    places: AMM_SELL,
  },
  {
    file: 'pumpfun_create_from_blocksubscribe.json',
    protocol: 'pump_fun',
    of: 'a purchase on a curve',
    layout: { pool: {}, config: { 41: 1, 741: 17 }, creator: CURVE_CREATOR },
    places: { owner: 6, in: 6, out: 5, programIn: 8, programOut: 8 },
  },
  {
    file: 'swap_maestro_1.json',
    protocol: 'pump_fun',
    of: 'a sale on a curve',
    layout: { pool: {}, config: { 41: 1, 741: 15 }, creator: CURVE_CREATOR },
    places: { owner: 6, in: 5, out: 6, programIn: 9, programOut: 9 },
  },
  {
    file: 'swap_raydium_v4_1.json',
    protocol: 'raydium_amm_v4',
    of: 'Raydium AMM v4',
    layout: { pool: { 336: 3, 368: 4 }, config: {} },
    places: { owner: 7, in: 5, out: 6, programIn: 0, programOut: 0 },
  },
  {
    file: 'swap_raydium_cpmm_1.json',
    protocol: 'raydium_cpmm',
    of: 'Raydium CPMM',
    layout: { pool: { 8: 2, 72: 6, 104: 7, 168: 10, 296: 12 }, config: {} },
    places: { owner: 0, in: 4, out: 5, programIn: 8, programOut: 9 },
  },
  {
    file: 'swap_exa6gyh_1.json',
    protocol: 'raydium_cpmm',
    of: 'Raydium CPMM, second to first',
    layout: { pool: { 8: 2, 72: 7, 104: 6, 168: 11, 296: 12 }, config: {} },
    places: { owner: 0, in: 4, out: 5, programIn: 8, programOut: 9 },
  },
]

const venueOf = (protocol: string) => {
  const venue = solanaVenue(protocol)
  assert.ok(venue)
  return venue
}

for (const { file, protocol, layout, places, of } of CASES) {
  test(`${of}: the built instruction has the recorded accounts`, async () => {
    const { instruction, swap, at, state } = recordedCall(file, layout)
    const wanted: VenueSwap = {
      pool: swap.pool,
      owner: at(places.owner),
      mode: 'exact_in',
      tokenIn: swap.tokenIn ?? '',
      tokenOut: swap.tokenOut ?? '',
      accountIn: at(places.in),
      accountOut: at(places.out),
      programIn: at(places.programIn),
      programOut: at(places.programOut),
      amountInRaw: 5n,
      minOutRaw: 6n,
      maxInRaw: 5n,
    }
    const built = await venueOf(protocol).swap(wanted, state)
    assert.equal(built.program, instruction.program)
    assert.deepEqual(
      built.accounts.map(([account]) => account),
      instruction.accounts,
    )
  })
}

test('amounts and discriminators of built instructions equal the recorded ones', async () => {
  const bytesOf = async (
    { file, protocol, layout }: LayoutCase,
    swap: Partial<VenueSwap>,
  ): Promise<string> => {
    const recorded = recordedCall(file, layout)
    const { tokenIn, tokenOut, pool } = recorded.swap
    const accounts = { accountIn: addressFor('in'), accountOut: addressFor('out') }
    const programs = { programIn: TOKEN_PROGRAM, programOut: TOKEN_PROGRAM }
    const built = await venueOf(protocol).swap(
      {
        pool,
        owner: addressFor('owner'),
        mode: 'exact_in',
        ...accounts,
        ...programs,
        tokenIn: tokenIn ?? '',
        tokenOut: tokenOut ?? '',
        amountInRaw: 0n,
        minOutRaw: 0n,
        maxInRaw: 0n,
        ...swap,
      },
      recorded.state,
    )
    return Buffer.from(built.data).toString('hex')
  }
  const [buys, sells, curveBuys, curveSells, raydium, cpmm] = CASES
  assert.ok(buys && sells && curveBuys && curveSells && raydium && cpmm)
  const dataOf = ({ file, layout }: LayoutCase): string =>
    Buffer.from(recordedCall(file, layout).instruction.data ?? []).toString('hex')
  const bloom = { amountInRaw: 500_000_000n, maxInRaw: 500_000_000n, minOutRaw: 112_018_396_904n }
  // The recorded one leaves out the last byte, which counts the trade for rewards.
  assert.equal((await bytesOf(buys, bloom)).slice(0, -2), dataOf(buys))
  assert.equal(
    await bytesOf(sells, { amountInRaw: 4_292_995_878_271n, minOutRaw: 1_600_396_678n }),
    dataOf(sells),
  )
  const exactOut = { mode: 'exact_out', minOutRaw: 3_520_371_073_923n, maxInRaw: 421_875n } as const
  assert.equal((await bytesOf(curveBuys, exactOut)).slice(0, 32), dataOf(curveBuys).slice(0, 32))
  assert.equal(
    await bytesOf(curveSells, { amountInRaw: 5_278_858_153_234n, minOutRaw: 715_183_747n }),
    dataOf(curveSells),
  )
  assert.equal(
    await bytesOf(raydium, { amountInRaw: 8_573_841_641n, minOutRaw: 0n }),
    dataOf(raydium),
  )
})

const OWNER = addressFor('owner')
const LIFETIME = { blockhash: addressFor('a recent block'), lastValidBlockHeight: 9 }

test('an unsigned transaction has version 0, empty signatures and its payer first', async () => {
  const account = await associatedTokenAddress(OWNER, WRAPPED_SOL, TOKEN_PROGRAM)
  const text = unsignedTransaction(OWNER, LIFETIME, [
    computeLimit(100_000),
    computePrice(7n),
    createTokenAccount(OWNER, WRAPPED_SOL, { account, tokenProgram: TOKEN_PROGRAM }),
    ...wrapSol(OWNER, account, 5n),
    unwrapSol(OWNER, account),
  ])
  const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(text))
  assert.deepEqual(transaction.signatures, { [OWNER]: null })
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
  assert.equal(message.version, 0)
  assert.equal(message.staticAccounts[0], OWNER)
  assert.deepEqual(message.header, {
    numReadonlyNonSignerAccounts: 5,
    numReadonlySignerAccounts: 0,
    numSignerAccounts: 1,
  })
})

/** Accounts that a transaction names itself, and how many it takes from tables. */
const namedBy = (text: string) => {
  const { messageBytes } = getTransactionDecoder().decode(getBase64Encoder().encode(text))
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  assert.equal(message.version, 0)
  const lookups = message.addressTableLookups ?? []
  return {
    own: message.staticAccounts as readonly string[],
    looked: lookups.flatMap(({ readonlyIndexes, writableIndexes }) => [
      ...readonlyIndexes,
      ...writableIndexes,
    ]),
  }
}

test('what is kept out of look-up tables, and the payer, are named by the transaction itself', () => {
  const kept = [addressFor('tip'), addressFor('token account')]
  const others = Array.from({ length: 40 }, (_, index) => addressFor(`account ${index}`))
  const call: SolanaInstruction = {
    program: addressFor('program'),
    data: new Uint8Array(),
    accounts: [...kept, OWNER, ...others].map((key) => [key, 'write'] as const),
  }
  const tables = { [addressFor('table')]: [...kept, OWNER, ...others] }
  const { own, looked } = namedBy(
    unsignedTransaction(OWNER, LIFETIME, [call], { tables, kept: new Set(kept) }),
  )
  assert.ok([...kept, OWNER].every((key) => own.includes(key)))
  // Places of the others stay where the table has them.
  assert.deepEqual(
    looked.toSorted((one, other) => one - other),
    others.map((_, index) => index + 3),
  )
})

test('a transaction larger than a packet is refused', () => {
  const program = addressFor('program')
  const many = Array.from(
    { length: 40 },
    (_, index): SolanaInstruction => ({
      program,
      data: new Uint8Array(),
      accounts: [[addressFor(`account ${index}`), 'read']],
    }),
  )
  assert.throws(
    () => unsignedTransaction(OWNER, LIFETIME, many),
    (error) => error instanceof Fault && error.faultName === 'TRANSACTION_SIZE_EXCEEDED',
  )
  assert.ok(
    Buffer.byteLength(unsignedTransaction(OWNER, LIFETIME, many.slice(0, 20)), 'base64') <=
      MAX_TRANSACTION_BYTES,
  )
})
