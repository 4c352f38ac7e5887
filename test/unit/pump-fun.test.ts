import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { DecodedBlock, SvmInstruction, Swap } from '../../schemas/events.ts'
import {
  addressFor,
  borshFields,
  borshText,
  buildSvmBlock,
  buildTokenBalance,
  decodeInstructions,
  eventCpi,
  type InstructionInput,
} from '../support/builders/svm-block.ts'
import {
  recordedSolanaBlock,
  recordedSolanaTransaction,
  solanaDecodeContext,
  solanaRecordingJson,
} from '../support/recordings/solana.ts'

const WSOL = CHAINS.sol.wrappedNative
const NO_KEY = CHAINS.sol.nativeAddress
const USDC = CHAINS.sol.quotes[0].address
const PUMP = PROGRAM_IDS.pumpFun
const MINT = addressFor('mint')
const CURVE = addressFor('curve')
const USER = addressFor('user')
const TRADE = 'bddb7fd34ee661ee'
const CREATE = '1b72a94ddeeb6376'

const BUY = '66063d1201daebea'
const SELL = '33e685a4017f83ad'
const BUY_V2 = 'b817ee6167c5d33d'
const SELL_V3 = '1c92de7726c469d5'

/** Accounts at their places, all others synthetic. */
const accounts = (places: Readonly<Record<number, string>>): readonly string[] =>
  Array.from({ length: 27 }, (_, index) => places[index] ?? addressFor(`account ${index}`))

const V1 = accounts({ 2: MINT, 3: CURVE, 4: addressFor('vault'), 5: addressFor('tokens'), 6: USER })
const V2 = accounts({
  1: MINT,
  2: USDC,
  10: CURVE,
  11: addressFor('vault'),
  12: addressFor('quote vault'),
  13: USER,
  14: addressFor('tokens'),
  15: addressFor('dollars'),
})
const V3 = accounts({
  1: MINT,
  2: USDC,
  5: CURVE,
  6: addressFor('vault'),
  7: addressFor('quote vault'),
  8: USER,
  9: addressFor('tokens'),
  10: addressFor('dollars'),
})

interface TransferReport {
  readonly sol?: bigint
  readonly tokens?: bigint
  readonly buys?: boolean
}

/** The first layout of a TradeEvent. */
const first = ({ sol = 100n, tokens = 5_000n, buys = true }: TransferReport = {}): Buffer =>
  borshFields(MINT, sol, tokens, buys, USER, 1n, 30_000n, 1_000_000n, 200n, 700_000n)

/** Everything that came later, before the quote. */
const later = (shareholders = 0): Buffer =>
  Buffer.concat([
    borshFields(addressFor('fees'), 95n, 3n, addressFor('creator'), 30n, 1n, true, 0n, 0n, 0n, 0n),
    borshText('buy'),
    borshFields(true, 0n, 0n, 0n, 0n),
    Buffer.from([shareholders, 0, 0, 0]),
    Buffer.alloc(34 * shareholders, 7),
  ])

const quote = (mint: string, amount: bigint): Buffer => borshFields(mint, amount, 44_000n, 14_000n)

const trade = (form: string, list: readonly string[], event: Buffer): InstructionInput => ({
  program: PUMP,
  accounts: list,
  data: form,
  calls: [eventCpi(PUMP, TRADE, event)],
})

const onlySwap = ({ swaps, dropped }: DecodedBlock): Swap => {
  assert.deepEqual(dropped, [])
  assert.equal(swaps.length, 1)
  const [swap] = swaps
  assert.ok(swap)
  return swap
}

const reasons = ({ swaps, tokenCreations, dropped }: DecodedBlock): readonly string[] => {
  assert.deepEqual([...swaps, ...tokenCreations], [])
  return dropped.map(({ reason }) => reason)
}

test('pump.fun: a trade in the first layout has the wrapped SOL, curve reserves and accounts', () => {
  const decoded = decodeInstructions([trade(BUY, V1, first())])
  assert.deepEqual(onlySwap(decoded), {
    kind: 'swap',
    txIndex: 0,
    logIndex: 0,
    path: { outer: 0, inner: null },
    pool: CURVE,
    protocol: 'pump_fun',
    trader: USER,
    tokenIn: WSOL,
    tokenOut: MINT,
    amountInRaw: 100n,
    amountOutRaw: 5_000n,
    reservesInOut: [200n, 700_000n],
    curve: {
      virtualQuoteRaw: 30_000n,
      virtualTokenRaw: 1_000_000n,
      realQuoteRaw: 200n,
      realTokenRaw: 700_000n,
    },
    accounts: {
      userIn: USER,
      userOut: addressFor('tokens'),
      vaultIn: CURVE,
      vaultOut: addressFor('vault'),
    },
  })
  assert.deepEqual(decoded.pools, [
    {
      address: CURVE,
      tokenA: MINT,
      tokenB: WSOL,
      protocol: 'pump_fun',
      factory: PUMP,
      feePips: null,
      verified: true,
    },
  ])
})

test('pump.fun: a sale has its sides reversed', () => {
  const swap = onlySwap(decodeInstructions([trade(SELL, V1, first({ buys: false }))]))
  assert.deepEqual(
    [swap.tokenIn, swap.amountInRaw, swap.tokenOut, swap.amountOutRaw],
    [MINT, 5_000n, WSOL, 100n],
  )
  assert.deepEqual(swap.reservesInOut, [700_000n, 200n])
  assert.equal(swap.accounts?.userIn, addressFor('tokens'))
  assert.equal(swap.accounts?.vaultOut, CURVE)
})

test('pump.fun: a curve quoted in USDC uses the quote fields instead of the SOL fields', () => {
  const event = Buffer.concat([first({ sol: 0n }), later(), quote(USDC, 3_517_192n)])
  const swap = onlySwap(decodeInstructions([trade(BUY_V2, V2, event)]))
  assert.deepEqual([swap.tokenIn, swap.amountInRaw], [USDC, 3_517_192n])
  assert.deepEqual([swap.curve?.virtualQuoteRaw, swap.curve?.realQuoteRaw], [44_000n, 14_000n])
  assert.deepEqual(swap.accounts, {
    userIn: addressFor('dollars'),
    userOut: addressFor('tokens'),
    vaultIn: addressFor('quote vault'),
    vaultOut: addressFor('vault'),
  })
})

test('pump.fun: the quote fields follow any number of shareholders; the quote mint may be in the event alone', () => {
  for (const count of [1, 3]) {
    const event = Buffer.concat([first({ sol: 0n }), later(count), quote(USDC, 9n)])
    const swap = onlySwap(decodeInstructions([trade(BUY, V1, event)]))
    assert.deepEqual([swap.tokenIn, swap.amountInRaw], [USDC, 9n])
  }
})

test('pump.fun: a zero quote mint is SOL, which has no token account', () => {
  const event = Buffer.concat([first({ buys: false }), later(), quote(NO_KEY, 77n)])
  const swap = onlySwap(decodeInstructions([trade(SELL_V3, V3, event)]))
  assert.deepEqual([swap.tokenOut, swap.amountOutRaw], [WSOL, 77n])
  assert.deepEqual(swap.accounts, {
    userIn: addressFor('tokens'),
    userOut: USER,
    vaultIn: addressFor('vault'),
    vaultOut: CURVE,
  })
})

test('pump.fun: unknown trailing fields are ignored', () => {
  const event = Buffer.concat([first(), later(), quote(NO_KEY, 77n), Buffer.alloc(40, 9)])
  assert.equal(onlySwap(decodeInstructions([trade(BUY, V1, event)])).amountInRaw, 77n)
})

test('pump.fun: a trade of May 2024 with the shorter layout has its curve reserves', () => {
  const recorded = Buffer.from(
    String(solanaRecordingJson('pumpfun_trade_event_2024_05.json').programDataBase64),
    'base64',
  )
  const [tag, event] = [recorded.subarray(0, 8).toString('hex'), recorded.subarray(8)]
  assert.equal(tag, TRADE)
  const swap = onlySwap(decodeInstructions([trade(SELL, V1, event)]))
  assert.deepEqual([swap.amountInRaw, swap.amountOutRaw], [91_328_321_657_237n, 2_807_820_424n])
  assert.deepEqual(swap.curve, {
    virtualQuoteRaw: 30_086_219_287n,
    virtualTokenRaw: 1_069_925_061_124_360n,
    realQuoteRaw: 86_219_287n,
    realTokenRaw: 790_025_061_124_360n,
  })
})

test('pump.fun: a recorded trade cut behind its first layout is decoded, one cut before it is dropped', () => {
  const { instructions, ...tx } = recordedSolanaTransaction(
    'pumpfun_create_from_blocksubscribe.json',
  )
  const at = instructions.findIndex(
    ({ data }) => data !== null && Buffer.from(data).subarray(8, 16).toString('hex') === TRADE,
  )
  const event = instructions[at]
  assert.ok(event?.data)
  const [whole] = decodeBlock(buildSvmBlock([{ ...tx, instructions }]), solanaDecodeContext()).swaps
  const reserves = whole?.reservesInOut
  assert.ok(reserves)
  const { length } = event.data
  for (let end = 16; end <= length; end += 1) {
    const cut: SvmInstruction = { ...event, data: event.data.subarray(0, end) }
    const block = buildSvmBlock([{ ...tx, instructions: instructions.with(at, cut) }])
    const { swaps, dropped } = decodeBlock(block, solanaDecodeContext())
    if (end < 16 + 105) assert.deepEqual([swaps.length, dropped[0]?.reason], [0, 'truncated-data'])
    else {
      assert.deepEqual([swaps[0]?.amountInRaw, dropped.length], [98_750_018n, 0], String(end))
      assert.deepEqual(swaps[0]?.reservesInOut, reserves, `${end}: what the curve holds`)
    }
  }
})

const POST_COMPLETE = '6fb06d8b316cd5fb'

test('pump.fun: a purchase that completes the curve continues with the tokens reserved for the pool', () => {
  const event = (tokens: bigint, paid: bigint): Buffer =>
    Buffer.concat([
      borshFields(USER, MINT, CURVE, NO_KEY, 1n, tokens, paid),
      borshFields(95n, 7n, 30n, 2n, 0n),
      borshFields(206_900_000_000_000n, 84_990_360_097n, 204_953_358_745_699n, 85_797_596_155n),
    ])
  const both = (rest: Buffer): DecodedBlock =>
    decodeInstructions([
      {
        program: PUMP,
        accounts: V1,
        data: BUY,
        calls: [eventCpi(PUMP, TRADE, first()), eventCpi(PUMP, POST_COMPLETE, rest)],
      },
    ])
  const { swaps, dropped } = both(event(1_946_641_254_301n, 807_236_058n))
  assert.deepEqual(dropped, [])
  assert.deepEqual(
    swaps.map(({ logIndex, tokenIn, tokenOut }) => [logIndex, tokenIn, tokenOut]),
    [
      [0, WSOL, MINT],
      [2, WSOL, MINT],
    ],
  )
  const rest = swaps[1]
  assert.deepEqual([rest?.amountInRaw, rest?.amountOutRaw], [807_236_058n, 1_946_641_254_301n])
  assert.deepEqual(rest?.curve, {
    virtualQuoteRaw: 85_797_596_155n,
    virtualTokenRaw: 204_953_358_745_699n,
    realQuoteRaw: 85_797_596_155n,
    realTokenRaw: 0n,
  })
  const refused = (rest: Buffer) => both(rest).dropped.map(({ reason }) => reason)
  assert.deepEqual(refused(event(0n, 0n)), ['zero-amount'])
  assert.deepEqual(refused(event(1n, 1n).subarray(0, 200)), ['truncated-data'])
})

const ROUTE = 'e19a7516d756f667'
/** A hop's five accounts: mint, what it is paid in, its curve and both vaults. */
const hopAccounts = (mint: string, paidIn: string, curve: string, vault: string) => [
  ...[mint, paidIn, curve, vault, addressFor(`quote of ${vault}`)],
]
const routeOf = (...hops: readonly (readonly string[])[]): readonly string[] => [
  ...accounts({ 3: USER }).slice(0, 13),
  ...hops.flat(),
]
const HELD = [
  buildTokenBalance(addressFor('vault'), CURVE, MINT),
  buildTokenBalance(addressFor('vault 2'), addressFor('curve 2'), addressFor('mint 2')),
]

test('pump.fun: each hop of a route is a trade, where its vault belongs to its curve', () => {
  const [own, other] = [
    hopAccounts(MINT, NO_KEY, CURVE, addressFor('vault')),
    // Sold for the first token: that one stands here too, as what is paid.
    hopAccounts(addressFor('mint 2'), MINT, addressFor('curve 2'), addressFor('vault 2')),
  ]
  for (const hops of [[own], [other, own], [own, other]]) {
    const route = trade(ROUTE, routeOf(...hops), first())
    const { swaps, dropped } = decodeInstructions([route], { tokenBalances: HELD })
    assert.deepEqual(dropped, [])
    assert.deepEqual(
      swaps.map(({ logIndex, pool, trader, tokenOut }) => [logIndex, pool, trader, tokenOut]),
      [[1, CURVE, USER, MINT]],
    )
  }
  const list = routeOf(own)
  assert.deepEqual(reasons(decodeInstructions([trade(ROUTE, list, first())])), ['unknown-account'])
  const short = trade(ROUTE, list.slice(0, 16), first())
  assert.deepEqual(reasons(decodeInstructions([short], { tokenBalances: HELD })), [
    'missing-account',
  ])
})

test('pump.fun: a hop that completes its curve continues with the tokens reserved for the pool', () => {
  const rest = Buffer.concat([
    borshFields(USER, MINT, CURVE, NO_KEY, 1n, 40n, 80n),
    borshFields(0n, 0n, 0n, 0n, 0n, 1_000n, 2_000n, 960n, 2_080n),
  ])
  const route: InstructionInput = {
    program: PUMP,
    accounts: routeOf(hopAccounts(MINT, NO_KEY, CURVE, addressFor('vault'))),
    data: ROUTE,
    calls: [eventCpi(PUMP, POST_COMPLETE, rest)],
  }
  const { swaps, dropped } = decodeInstructions([route], { tokenBalances: HELD })
  assert.deepEqual(dropped, [])
  assert.deepEqual(
    swaps.map(({ pool, amountInRaw, amountOutRaw }) => [pool, amountInRaw, amountOutRaw]),
    [[CURVE, 80n, 40n]],
  )
})

test('pump.fun: events of another program or without their own instruction are not trades', () => {
  const event = eventCpi(PUMP, TRADE, first())
  const other = { ...trade(BUY, V1, first()), program: addressFor('forger') }
  assert.deepEqual(reasons(decodeInstructions([event])), ['unexpected-caller'])
  assert.deepEqual(reasons(decodeInstructions([other])), ['unexpected-caller'])
  const elsewhere = eventCpi(addressFor('forger'), TRADE, first())
  assert.deepEqual(reasons(decodeInstructions([{ ...other, calls: [elsewhere] }])), [])
  assert.deepEqual(
    reasons(decodeInstructions([{ ...other, program: PUMP, calls: [elsewhere] }])),
    [],
  )
})

test('pump.fun: an invalid trade is dropped with its reason', () => {
  assert.deepEqual(reasons(decodeInstructions([trade('0011223344556677', V1, first())])), [
    'unknown-instruction',
  ])
  assert.deepEqual(reasons(decodeInstructions([trade(BUY, V1.slice(0, 5), first())])), [
    'missing-account',
  ])
  assert.deepEqual(reasons(decodeInstructions([trade(BUY, V1, first({ sol: 0n, tokens: 0n }))])), [
    'zero-amount',
  ])
})

test('pump.fun: a sale for zero SOL is a trade', () => {
  const sold = first({ sol: 0n, tokens: 3n, buys: false })
  const { tokenIn, amountInRaw, amountOutRaw } = onlySwap(
    decodeInstructions([trade(SELL, V1, sold)]),
  )
  assert.deepEqual([tokenIn, amountInRaw, amountOutRaw], [MINT, 3n, 0n])
})

test('pump.fun: a known pool is not published again', () => {
  const calls = [trade(BUY, V1, first()), trade(BUY, V1, first())]
  const { pools, swaps } = decodeInstructions(calls)
  assert.deepEqual([pools.length, swaps.length], [1, 2])
  const block = recordedSolanaBlock('buy_token_pumpfun_1.json')
  const [fact] = decodeBlock(block, solanaDecodeContext()).pools
  assert.ok(fact)
  assert.deepEqual(decodeBlock(block, solanaDecodeContext([fact])).pools, [])
  assert.equal(
    decodeBlock(block, solanaDecodeContext([{ ...fact, verified: false }])).pools.length,
    1,
  )
})

test('pump.fun: a token is created with its curve before it trades', () => {
  const block = recordedSolanaBlock('pumpfun_create_from_blocksubscribe.json')
  const { tokenCreations, poolChanges, swaps } = decodeBlock(block, solanaDecodeContext())
  const [birth] = tokenCreations
  const [opened] = poolChanges
  const [swap] = swaps
  assert.ok(birth && opened && swap)
  assert.deepEqual(birth.metadata, {
    address: '7YD6ZHb39jGb33ki2iFd7kHK11yMkSFCc9kvjJscpump',
    decimals: 6,
    name: 'NYXORA',
    symbol: 'NYXORA',
    totalSupplyRaw: 1_000_000_000_000_000n,
    uri: 'https://ipfs.io/ipfs/bafkreiguttiiufcl24xtnzgxvvonh7b535a3dh6txrjgwax2hyecsyj46i',
    program: PROGRAM_IDS.token2022,
  })
  assert.deepEqual(birth.launch, { protocol: 'pump_fun', pool: swap.pool })
  assert.equal(birth.dev, '5zsxd4pGNCQpwyKiBWZ95nCTPsEPoS62xEGnjpW6FRy7')
  assert.deepEqual(
    [opened.kind, opened.pool, opened.amountARaw, opened.amountBRaw],
    ['initialize', swap.pool, 793_100_000_000_000n, 0n],
  )
  assert.ok(birth.logIndex < swap.logIndex)
  assert.equal(tokenCreations.length, 1)
})

test('pump.fun: the first layout of a creation, and one of a mayhem token with another quote', () => {
  const head = Buffer.concat([
    borshText('Name'),
    borshText('SYM'),
    borshText('https://x'),
    borshFields(MINT, CURVE),
  ])
  const create = (data: Buffer, made: readonly InstructionInput[] = []): DecodedBlock =>
    decodeInstructions([
      { program: PUMP, data: '181ec828051c0777', calls: [...made, eventCpi(PUMP, CREATE, data)] },
    ])
  const old = create(Buffer.concat([head, borshFields(USER)]))
  assert.deepEqual(old.tokenCreations[0]?.creators, [USER])
  assert.equal(old.tokenCreations[0]?.metadata.totalSupplyRaw, 1_000_000_000_000_000n)
  assert.equal(old.poolChanges[0]?.amountARaw, 793_100_000_000_000n)
  assert.equal(old.poolChanges[0]?.tokenB, WSOL)
  const told = Buffer.concat([
    head,
    borshFields(USER, addressFor('creator'), 1n, 9n, 8n, 7n, 2_000_000n),
    borshFields(PROGRAM_IDS.token2022, true, false, USDC, 5n),
  ])
  const mayhem = create(told)
  assert.deepEqual(mayhem.tokenCreations[0]?.creators, [addressFor('creator')])
  assert.equal(mayhem.tokenCreations[0]?.dev, USER)
  assert.equal(mayhem.tokenCreations[0]?.metadata.totalSupplyRaw, 2_000_000n)
  assert.deepEqual([mayhem.poolChanges[0]?.amountARaw, mayhem.poolChanges[0]?.tokenB], [7n, USDC])
  assert.deepEqual(mayhem.poolChanges[0]?.curve, {
    virtualQuoteRaw: 5n,
    virtualTokenRaw: 9n,
    realQuoteRaw: 0n,
    realTokenRaw: 7n,
  })
  const minted = (to: string): InstructionInput => ({
    program: PROGRAM_IDS.token2022,
    accounts: [MINT, addressFor(to), addressFor('authority')],
    data: Buffer.concat([Buffer.from([7]), borshFields(2_000_000n)]),
  })
  const [birth] = create(told, [minted('vault'), minted('agent')]).tokenCreations
  assert.equal(birth?.metadata.totalSupplyRaw, 4_000_000n, 'the curve’s and the agent’s')
  assert.equal(old.poolChanges[0]?.curve, undefined)
  assert.deepEqual(reasons(create(head)), ['truncated-data'])
  assert.deepEqual(reasons(create(Buffer.alloc(200, 255))), ['truncated-data'])
})

test('pump.fun: a graduated token migrates to the PumpSwap pool that the same transaction creates', () => {
  const block = recordedSolanaBlock('migrate_pumpfun_1.json')
  const { migrations, pools, tokenCreations, swaps } = decodeBlock(block, solanaDecodeContext())
  const [migration] = migrations
  assert.deepEqual(migration, {
    kind: 'migration',
    txIndex: 0,
    logIndex: 2,
    path: { outer: 2, inner: null },
    token: '6XXqLtAwn7oBbhT9m3AeVZE2y77LdzuZSHVtWSEDpump',
    from: { protocol: 'pump_fun', pool: 'ERodHMCNaF8DuF6SqKr1s2bJaza2AQmLw5GhcuCj796Y' },
    to: { protocol: 'pumpswap', pool: '3ioeR9Rwi6xNb1UgmTi31Kcv565UNEv7AmAaEL5CkN6f' },
  })
  assert.equal(pools[0]?.address, migration.to.pool)
  assert.deepEqual(
    [tokenCreations, swaps],
    [[], []],
    'liquidity tokens are not born, migrating is not a trade',
  )
})
