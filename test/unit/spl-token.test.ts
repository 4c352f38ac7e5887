import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { DecodedBlock } from '../../schemas/events.ts'
import {
  addressFor,
  borshFields,
  borshText,
  buildTokenBalance,
  decodeInstructions,
  type InstructionInput,
  PAYER,
  tokenTransferInstruction,
  u64le,
} from '../support/builders/svm-block.ts'

const SOL = CHAINS.sol.nativeAddress
const [MINT, FROM, TO] = [addressFor('mint'), addressFor('from'), addressFor('to')]
const [ALICE, BOB] = [addressFor('alice'), addressFor('bob')]
const BALANCES = [buildTokenBalance(FROM, ALICE, MINT), buildTokenBalance(TO, BOB, MINT)]

const token = (
  accounts: readonly string[],
  ...data: readonly (number | Buffer)[]
): InstructionInput => ({
  program: PROGRAM_IDS.token2022,
  accounts,
  data: Buffer.concat(data.map((part) => (typeof part === 'number' ? Buffer.from([part]) : part))),
})
const system = (
  accounts: readonly string[],
  tag: number,
  ...data: readonly Buffer[]
): InstructionInput => ({
  program: PROGRAM_IDS.system,
  accounts,
  data: Buffer.concat([Buffer.from([tag, 0, 0, 0]), ...data]),
})
const initializeMint = (mint: string, decimals: number, freeze?: string): InstructionInput =>
  token(
    [mint],
    20,
    decimals,
    borshFields(addressFor('minter')),
    freeze === undefined ? 0 : Buffer.concat([Buffer.from([1]), borshFields(freeze)]),
  )
const mintTo = (mint: string, amount: bigint): InstructionInput =>
  token([mint, TO, addressFor('minter')], 7, u64le(amount))

const reasons = ({ dropped }: DecodedBlock): readonly string[] =>
  dropped.map(({ reason }) => reason)

test('every kind of token transfer has owners and accounts', () => {
  const { transfers, dropped } = decodeInstructions(
    [
      tokenTransferInstruction([FROM, TO, addressFor('delegate')], 1n),
      token([FROM, MINT, TO, ALICE], 12, u64le(2n), 6),
      token([FROM, MINT, TO, ALICE], 26, 1, u64le(3n), 6, u64le(1n)),
      token([FROM, MINT, TO, ALICE], 26, 0, u64le(4n), 6, u64le(1n)),
    ],
    { tokenBalances: BALANCES },
  )
  assert.deepEqual(dropped, [])
  assert.deepEqual(
    transfers.map(({ amountRaw }) => amountRaw),
    [1n, 2n, 3n],
  )
  for (const { token: moved, from, to, fromAccount, toAccount, wrap } of transfers) {
    assert.deepEqual(
      [moved, from, to, fromAccount, toAccount, wrap],
      [MINT, ALICE, BOB, FROM, TO, false],
    )
  }
})

test('transfers between accounts without known owners: the signer is the sender, the account itself the receiver', () => {
  const { transfers, dropped } = decodeInstructions([
    token([FROM, MINT, TO, ALICE], 12, u64le(2n), 6),
    tokenTransferInstruction([FROM, TO, ALICE], 1n),
  ])
  assert.deepEqual([transfers[0]?.from, transfers[0]?.to], [ALICE, TO])
  assert.deepEqual(
    [transfers.length, dropped[0]?.reason, dropped[0]?.logIndex],
    [1, 'unknown-token', 1],
  )
})

test('native transfers have the system address as token, and go to the owner of a token account', () => {
  const { transfers } = decodeInstructions(
    [
      system([ALICE, BOB], 2, u64le(5n)),
      system([ALICE, TO], 2, u64le(6n)),
      system([ALICE, addressFor('base'), BOB], 11, u64le(7n), Buffer.alloc(9)),
      system([ALICE, BOB], 0, u64le(8n), Buffer.alloc(40)),
    ],
    { tokenBalances: BALANCES },
  )
  assert.deepEqual(
    transfers.map(({ token: moved, from, to, toAccount, amountRaw }) => [
      moved,
      from,
      to,
      toAccount,
      amountRaw,
    ]),
    [
      [SOL, ALICE, BOB, BOB, 5n],
      [SOL, ALICE, BOB, TO, 6n],
      [SOL, ALICE, BOB, BOB, 7n],
    ],
  )
})

test('truncated token instructions are dropped', () => {
  const calls = [
    token([FROM, TO, ALICE], 3, u64le(1n).subarray(0, 7)),
    token([FROM], 3, u64le(1n)),
    token([FROM, MINT, TO], 12, u64le(1n), 6),
    token([MINT], 7, u64le(1n)),
    token([MINT], 20, 6),
    system([ALICE, BOB], 2, u64le(1n).subarray(1)),
    system([ALICE], 2, u64le(1n)),
  ]
  const found = decodeInstructions(calls, { tokenBalances: BALANCES })
  assert.deepEqual(reasons(found), Array(calls.length).fill('truncated-data'))
  assert.deepEqual([found.transfers, found.supplies], [[], []])
  assert.deepEqual(reasons(decodeInstructions([token([], Buffer.alloc(0)), system([], 2)])), [
    'truncated-data',
  ])
})

test('supply events: mint initialization, mints and burns are decoded', () => {
  const { supplies } = decodeInstructions([
    initializeMint(MINT, 6),
    mintTo(MINT, 9n),
    token([MINT, TO, addressFor('minter')], 14, u64le(3n), 6),
    token([TO, MINT, BOB], 8, u64le(2n)),
    token([TO, MINT, BOB], 15, u64le(1n), 6),
  ])
  assert.deepEqual(
    supplies.map(({ type, token: of, amountRaw, logIndex }) => [type, of, amountRaw, logIndex]),
    [
      ['initialize', MINT, 0n, 0],
      ['mint', MINT, 9n, 1],
      ['mint', MINT, 3n, 2],
      ['burn', MINT, 2n, 3],
      ['burn', MINT, 1n, 4],
    ],
  )
})

test('a token created by plain instructions has its name, authorities and supply', () => {
  const { tokenCreations } = decodeInstructions([
    initializeMint(MINT, 9, addressFor('freezer')),
    {
      program: PROGRAM_IDS.metadata,
      accounts: [addressFor('metadata'), MINT],
      data: Buffer.concat([
        Buffer.from([33]),
        borshText('Coin\0\0\0'),
        borshText('C\0'),
        borshText('https://c'),
      ]),
    },
    mintTo(MINT, 50n),
    token([TO, MINT, BOB], 8, u64le(8n)),
    token([MINT, addressFor('minter')], 6, 0, 0),
    token([MINT, addressFor('freezer')], 6, 1, 1, borshFields(BOB)),
  ])
  assert.deepEqual(tokenCreations, [
    {
      kind: 'token-created',
      txIndex: 0,
      logIndex: 0,
      path: { outer: 0, inner: null },
      metadata: {
        address: MINT,
        decimals: 9,
        name: 'Coin',
        symbol: 'C',
        totalSupplyRaw: 42n,
        program: PROGRAM_IDS.token2022,
        uri: 'https://c',
        freezeAuthority: BOB,
      },
      dev: PAYER,
      creators: [PAYER],
      launch: null,
    },
  ])
})

test('Token-2022 metadata gives name and URI; a mint without metadata has no name', () => {
  const named = token(
    [MINT, addressFor('update'), MINT, addressFor('minter')],
    Buffer.from('d2e11ea258b84d8d', 'hex'),
    borshText('Own'),
    borshText('O'),
    borshText('ipfs://o'),
  )
  const [own, bare] = decodeInstructions([
    initializeMint(MINT, 6),
    named,
    initializeMint(addressFor('bare'), 6),
  ]).tokenCreations
  assert.deepEqual(
    [own?.metadata.name, own?.metadata.symbol, own?.metadata.uri],
    ['Own', 'O', 'ipfs://o'],
  )
  assert.deepEqual(
    [bare?.metadata.name, bare?.metadata.symbol, bare?.metadata.uri],
    [null, null, undefined],
  )
  assert.equal(bare?.metadata.mintAuthority, addressFor('minter'))
})

test('mints of collectibles, pool liquidity tokens and vault shares are not token creations', () => {
  const collectible = addressFor('collectible')
  const pool: InstructionInput = {
    program: PROGRAM_IDS.raydiumV4,
    data: 'ff',
    calls: [initializeMint(addressFor('lp'), 6)],
  }
  const vault: InstructionInput = {
    program: PROGRAM_IDS.meteoraVault,
    data: 'afaf6d1f0d989bed',
    calls: [initializeMint(addressFor('shares'), 6)],
  }
  const whole = addressFor('whole')
  const { tokenCreations, supplies } = decodeInstructions([
    initializeMint(collectible, 0),
    mintTo(collectible, 1n),
    pool,
    vault,
    initializeMint(whole, 0),
    mintTo(whole, 2n),
  ])
  assert.deepEqual(
    tokenCreations.map(({ metadata: fact }) => fact.address),
    [whole],
  )
  assert.equal(supplies.length, 6)
})

test('a transaction gives one balance change per changed account', () => {
  const { balances } = decodeInstructions([tokenTransferInstruction([FROM, TO, ALICE], 4n)], {
    tokenBalances: [
      buildTokenBalance(FROM, ALICE, MINT, { preRaw: 4n, postRaw: null }),
      buildTokenBalance(TO, BOB, MINT, { preRaw: null, postRaw: 4n }),
      buildTokenBalance(addressFor('empty'), BOB, MINT, { preRaw: null, postRaw: 0n }),
      buildTokenBalance(addressFor('same'), BOB, MINT, { preRaw: 8n, postRaw: 8n }),
      buildTokenBalance(addressFor('passing'), BOB, MINT, { preRaw: null, postRaw: null }),
    ],
    lamports: [
      { account: ALICE, preRaw: 100n, postRaw: 90n },
      { account: FROM, preRaw: 20n, postRaw: 0n },
      { account: addressFor('gone'), preRaw: 7n, postRaw: 0n },
      { account: addressFor('new'), preRaw: 0n, postRaw: 7n },
    ],
  })
  assert.deepEqual(
    balances.map(({ account, owner, token: of, preRaw, postRaw, lifecycle }) => [
      account,
      owner,
      of,
      preRaw,
      postRaw,
      lifecycle,
    ]),
    [
      [FROM, ALICE, MINT, 4n, 0n, 'closed'],
      [TO, BOB, MINT, 0n, 4n, 'new'],
      [addressFor('empty'), BOB, MINT, 0n, 0n, 'new'],
      [ALICE, ALICE, SOL, 100n, 90n, 'existing'],
      [addressFor('gone'), addressFor('gone'), SOL, 7n, 0n, 'closed'],
      [addressFor('new'), addressFor('new'), SOL, 0n, 7n, 'new'],
    ],
  )
  assert.ok(balances.every(({ logIndex, decimals }) => logIndex === 1 && decimals !== null))
})

test('a failed transaction changes the native balance of its payer and nothing else', () => {
  const found = decodeInstructions([tokenTransferInstruction([FROM, TO, ALICE], 4n)], {
    success: false,
    tokenBalances: BALANCES,
    lamports: [{ account: PAYER, preRaw: 9_000n, postRaw: 4_000n }],
  })
  const { balances, ...others } = found
  assert.deepEqual(Object.values(others).flat(), [])
  assert.deepEqual(
    balances.map(({ owner, preRaw, postRaw }) => [owner, preRaw, postRaw]),
    [[PAYER, 9_000n, 4_000n]],
  )
})
