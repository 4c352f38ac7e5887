import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAINS } from '../../schemas/chains.ts'
import {
  addressFor,
  borshFields,
  borshText,
  buildAccountList,
  buildSvmBlock,
  buildSvmTransaction,
  decodeInstructions,
  eventCpi,
  eventLogLine,
  type InstructionInput,
  tokenTransferInstruction,
  u64le,
} from '../support/builders/svm-block.ts'
import { recordedSolanaBlock, solanaDecodeContext } from '../support/recordings/solana.ts'

const LAUNCHLAB = PROGRAM_IDS.raydiumLaunchLab
const WSOL = CHAINS.sol.wrappedNative
const [POOL, USER, COIN] = [addressFor('curve'), addressFor('user'), addressFor('coin')]
const CREATOR = addressFor('creator')
const TRADE_EVENT = 'bddb7fd34ee661ee'
const CREATE_EVENT = '97d7e20976a173ae'

const TRADE = buildAccountList(18, {
  0: USER,
  4: POOL,
  5: addressFor('user coin'),
  6: addressFor('user sol'),
  7: addressFor('coin vault'),
  8: addressFor('sol vault'),
  9: COIN,
  10: WSOL,
})

/** 1,000 coins for sale, of which 400 are sold; virtual amounts 1,100 and 30. */
const curve = [1_000n, 1_100n, 30n, 390n, 80n, 400n, 82n] as const
const NEW_TAIL = borshFields(1n, 2n, 3n, 0n, Buffer.from([0, 0]), true)
const OLD_TAIL = borshFields(1n, 2n, 3n, Buffer.from([0, 0]))

const told = (amounts: readonly [bigint, bigint], tail = NEW_TAIL): InstructionInput =>
  eventCpi(LAUNCHLAB, TRADE_EVENT, borshFields(POOL, ...curve, ...amounts, tail))

const tradeOf = (data: string, more: Partial<InstructionInput> = {}): InstructionInput => ({
  program: LAUNCHLAB,
  accounts: TRADE,
  data,
  calls: [told([7n, 10n])],
  ...more,
})

test('launchlab: every form of a trade has the amounts of the user and the curve reserves', () => {
  const forms = {
    faea0d7bd59c13ec: true, // buy_exact_in
    '18d3742869039938': true, // buy_exact_out
    '9527de9bd37c981a': false, // sell_exact_in
    '5fc8472208090ba6': false, // sell_exact_out
  }
  for (const [data, buys] of Object.entries(forms)) {
    const { swaps, pools, dropped } = decodeInstructions([tradeOf(data)])
    assert.deepEqual(dropped, [])
    const [userCoin, userSol, coinVault, solVault] = TRADE.slice(5, 9)
    assert.deepEqual(swaps, [
      {
        kind: 'swap',
        txIndex: 0,
        logIndex: 0,
        path: { outer: 0, inner: null },
        pool: POOL,
        protocol: 'raydium_launchlab',
        trader: USER,
        tokenIn: buys ? WSOL : COIN,
        tokenOut: buys ? COIN : WSOL,
        amountInRaw: 7n,
        amountOutRaw: 10n,
        reservesInOut: buys ? [82n, 600n] : [600n, 82n],
        curve: {
          virtualQuoteRaw: 112n,
          virtualTokenRaw: 700n,
          realQuoteRaw: 82n,
          realTokenRaw: 600n,
        },
        accounts: buys
          ? { userIn: userSol, userOut: userCoin, vaultIn: solVault, vaultOut: coinVault }
          : { userIn: userCoin, userOut: userSol, vaultIn: coinVault, vaultOut: solVault },
      },
    ])
    assert.deepEqual([pools[0]?.tokenA, pools[0]?.tokenB, pools[0]?.verified], [COIN, WSOL, true])
  }
})

test('launchlab: shorter and longer event layouts are decoded as far as they agree', () => {
  const longer = Buffer.concat([NEW_TAIL, Buffer.from('fields of a year to come')])
  for (const tail of [OLD_TAIL, longer, Buffer.alloc(0)]) {
    const { swaps } = decodeInstructions([
      tradeOf('faea0d7bd59c13ec', { calls: [told([7n, 10n], tail)] }),
    ])
    assert.deepEqual([swaps[0]?.amountInRaw, swaps[0]?.curve?.realQuoteRaw], [7n, 82n])
  }
})

test('launchlab: a full curve has no tokens left, and other curve types never go below zero', () => {
  const event = (...numbers: readonly bigint[]): InstructionInput =>
    tradeOf('faea0d7bd59c13ec', {
      calls: [eventCpi(LAUNCHLAB, TRADE_EVENT, borshFields(POOL, ...numbers, 7n, 10n))],
    })
  const [full] = decodeInstructions([event(1_000n, 1_100n, 30n, 990n, 80n, 1_000n, 85n)]).swaps
  assert.deepEqual([full?.curve?.realTokenRaw, full?.reservesInOut], [0n, [85n, 0n]])
  const [linear] = decodeInstructions([event(1_000n, 20n, 0n, 990n, 80n, 1_001n, 85n)]).swaps
  assert.deepEqual([linear?.curve?.virtualTokenRaw, linear?.curve?.realTokenRaw], [0n, 0n])
})

test('launchlab: an invalid trade is dropped with its reason', () => {
  const reasonOf = (call: InstructionInput): string | undefined => {
    const { swaps, tokenCreations, migrations, dropped } = decodeInstructions([call])
    assert.deepEqual([swaps, tokenCreations, migrations], [[], [], []])
    return dropped[0]?.reason
  }
  const sell = '9527de9bd37c981a'
  const short = eventCpi(LAUNCHLAB, TRADE_EVENT, borshFields(POOL, ...curve, 7n, 10n).subarray(1))
  assert.equal(reasonOf(tradeOf(sell, { calls: [short] })), 'truncated-data')
  assert.equal(reasonOf(tradeOf(sell, { accounts: TRADE.slice(0, 10) })), 'missing-account')
  assert.equal(reasonOf(tradeOf('00'.repeat(8))), 'unknown-instruction')
  assert.equal(reasonOf(tradeOf(sell, { calls: [told([0n, 0n])] })), 'zero-amount')
  assert.equal(reasonOf(told([7n, 10n])), 'unexpected-caller')
  assert.equal(reasonOf({ ...tradeOf(sell), program: addressFor('stranger') }), 'unexpected-caller')
  const line = eventLogLine(TRADE_EVENT, borshFields(POOL, ...curve, 7n, 10n))
  assert.equal(
    reasonOf(tradeOf(sell, { calls: [], logs: [line] })),
    undefined,
    'the twin in the log',
  )
  assert.equal(reasonOf(launchOf({ accounts: TRADE.slice(0, 7) })), 'missing-account')
  assert.equal(reasonOf(launchOf({ data: sell })), 'unknown-instruction')
  const cut = eventCpi(LAUNCHLAB, CREATE_EVENT, event().subarray(0, 110))
  assert.equal(reasonOf(launchOf({ calls: [cut] })), 'truncated-data')
  assert.equal(
    reasonOf(launchOf({ calls: [eventCpi(LAUNCHLAB, CREATE_EVENT, event().subarray(0, 96))] })),
    'truncated-data',
  )
  assert.equal(reasonOf(migrationOf('cf52c091fecf91df', { accounts: TRADE })), 'missing-account')
  assert.equal(reasonOf(migrationOf('885cc8671cda908c', { accounts: [] })), 'missing-account')
})

/** The curve as the launch tells it: its kind, then supply and how much it sells. */
const event = (kind = 0, ...numbers: readonly bigint[]): Buffer =>
  Buffer.concat([
    borshFields(POOL, CREATOR, addressFor('config'), Buffer.from([6])),
    ...['Coin', 'CN', 'https://coin'].map(borshText),
    Buffer.from([kind]),
    borshFields(...(numbers.length === 0 ? [1_500n, 1_000n, 85n] : numbers)),
  ])

const LAUNCH = buildAccountList(18, {
  0: USER,
  1: CREATOR,
  5: POOL,
  6: COIN,
  7: WSOL,
  11: PROGRAM_IDS.token,
})

const launchOf = (more: Partial<InstructionInput> = {}): InstructionInput => ({
  program: LAUNCHLAB,
  accounts: LAUNCH,
  data: '4399af27da102620',
  calls: [eventCpi(LAUNCHLAB, CREATE_EVENT, event())],
  ...more,
})

/** A mint that the launchpad sets up, without a freeze authority. */
const mint: InstructionInput = {
  program: PROGRAM_IDS.token,
  accounts: [COIN],
  data: Buffer.concat([Buffer.from([20, 6]), Buffer.alloc(32, 1), Buffer.from([0])]),
}

test('launchlab: a launch is a token creation and an open curve, in every form', () => {
  const token22 = LAUNCH.with(10, PROGRAM_IDS.token2022)
  const forms: readonly (readonly [string, readonly string[], string])[] = [
    ['afaf6d1f0d989bed', LAUNCH, PROGRAM_IDS.token],
    ['4399af27da102620', LAUNCH, PROGRAM_IDS.token],
    ['25be7ede2c9aab11', token22, PROGRAM_IDS.token2022],
  ]
  for (const [data, accounts, program] of forms) {
    const calls = [eventCpi(LAUNCHLAB, CREATE_EVENT, event()), mint]
    const { tokenCreations, poolChanges, pools, dropped } = decodeInstructions([
      launchOf({ data, accounts, calls }),
    ])
    assert.deepEqual(dropped, [])
    const place = { txIndex: 0, logIndex: 0, path: { outer: 0, inner: null } }
    assert.deepEqual(tokenCreations, [
      {
        kind: 'token-created',
        ...place,
        metadata: {
          address: COIN,
          decimals: 6,
          name: 'Coin',
          symbol: 'CN',
          uri: 'https://coin',
          totalSupplyRaw: 1_500n,
          program,
        },
        dev: CREATOR,
        creators: [CREATOR],
        launch: { protocol: 'raydium_launchlab', pool: POOL },
      },
    ])
    assert.deepEqual(poolChanges, [
      {
        kind: 'initialize',
        ...place,
        pool: POOL,
        protocol: 'raydium_launchlab',
        owner: CREATOR,
        tokenA: COIN,
        tokenB: WSOL,
        amountARaw: 1_000n,
        amountBRaw: 0n,
        reserves: [1_000n, 0n],
      },
    ])
    assert.equal(pools[0]?.address, POOL)
  }
})

test('launchlab: a token whose mint was created before the launch is created once', () => {
  const { tokenCreations } = decodeInstructions([mint, launchOf()])
  assert.deepEqual(
    tokenCreations.map(({ launch }) => launch?.pool),
    [POOL],
  )
})

test('launchlab: a curve without its supply for sale opens without reserves', () => {
  const opened = (data: Buffer) => {
    const { tokenCreations, poolChanges } = decodeInstructions([
      launchOf({ calls: [eventCpi(LAUNCHLAB, CREATE_EVENT, data)] }),
    ])
    return [
      tokenCreations[0]?.metadata.totalSupplyRaw,
      poolChanges[0]?.amountARaw,
      poolChanges[0]?.reserves,
    ]
  }
  assert.deepEqual(opened(event(1, 1_500n, 85n, 0n)), [1_500n, 0n, undefined])
  assert.deepEqual(opened(event(0, 1_500n)), [1_500n, 0n, undefined])
  assert.deepEqual(opened(event(0, 1_500n).subarray(0, -1)), [null, 0n, undefined])
})

const migrationOf = (data: string, more: Partial<InstructionInput> = {}): InstructionInput => ({
  program: LAUNCHLAB,
  accounts:
    data === 'cf52c091fecf91df'
      ? buildAccountList(32, { 1: COIN, 2: WSOL, 13: addressFor('amm pool'), 23: POOL })
      : buildAccountList(28, { 1: COIN, 2: WSOL, 5: addressFor('cpmm pool'), 17: POOL }),
  data,
  ...more,
})

/** The pool that the launchpad has Raydium make. */
const cpmmPool: InstructionInput = {
  program: PROGRAM_IDS.raydiumCpmm,
  accounts: buildAccountList(20, {
    1: CREATOR,
    4: addressFor('cpmm pool'),
    5: COIN,
    6: WSOL,
    11: addressFor('vault 0'),
    12: addressFor('vault 1'),
  }),
  data: '3f37fe4131b25979',
  calls: [
    tokenTransferInstruction([addressFor('from'), addressFor('vault 0'), USER], 200n),
    tokenTransferInstruction([addressFor('from 2'), addressFor('vault 1'), USER], 85n),
  ],
}

const ammPool: InstructionInput = {
  program: PROGRAM_IDS.raydiumV4,
  accounts: buildAccountList(21, { 4: addressFor('amm pool'), 8: COIN, 9: WSOL, 17: USER }),
  data: Buffer.concat([Buffer.from([1, 254]), u64le(0), u64le(85), u64le(200)]),
}

test('launchlab: a migration leads to a pool of either program, which the same instruction creates', () => {
  for (const [data, protocol, pool, inner] of [
    ['cf52c091fecf91df', 'raydium_amm_v4', addressFor('amm pool'), ammPool],
    ['885cc8671cda908c', 'raydium_cpmm', addressFor('cpmm pool'), cpmmPool],
  ] as const) {
    const { migrations, poolChanges, swaps } = decodeInstructions([
      migrationOf(data, { calls: [inner] }),
    ])
    assert.deepEqual(migrations, [
      {
        kind: 'migration',
        txIndex: 0,
        logIndex: 0,
        path: { outer: 0, inner: null },
        token: COIN,
        from: { protocol: 'raydium_launchlab', pool: POOL },
        to: { protocol, pool },
      },
    ])
    assert.deepEqual(
      poolChanges.map((change) => [change.kind, change.protocol, change.pool, change.reserves]),
      [['initialize', protocol, pool, [200n, 85n]]],
    )
    assert.deepEqual(swaps, [], 'migrating is not a trade')
  }
})

test('launchlab: a failed transaction launches and migrates nothing', () => {
  const calls = [launchOf(), tradeOf('faea0d7bd59c13ec'), migrationOf('885cc8671cda908c')]
  const failed = buildSvmBlock([buildSvmTransaction(calls, { success: false })])
  const { tokenCreations, swaps, migrations, poolChanges } = decodeBlock(
    failed,
    solanaDecodeContext(),
  )
  assert.deepEqual([tokenCreations, swaps, migrations, poolChanges], [[], [], [], []])
})

test('launchlab: a recorded sale is net of its fees, with the curve reserves of its event', () => {
  const { swaps } = decodeBlock(
    recordedSolanaBlock('swap_raydium_launchpad_1.json'),
    solanaDecodeContext(),
  )
  assert.deepEqual(
    swaps.map(({ amountInRaw, amountOutRaw, curve: after }) => [amountInRaw, amountOutRaw, after]),
    [
      [
        20_261_126_631n,
        3_761_047n,
        {
          virtualQuoteRaw: 11_250_000_000n + 1_381_601_715n,
          virtualTokenRaw: 75_625_000_000_000n - 8_271_604_818_454n,
          realQuoteRaw: 1_381_601_715n,
          realTokenRaw: 55_000_000_000_000n - 8_271_604_818_454n,
        },
      ],
    ],
  )
})
