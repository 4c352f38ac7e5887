import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import {
  addressFor,
  buildAccountList,
  buildTokenBalance,
  decodeInstructions,
  type InstructionInput,
  u64le,
} from '../support/builders/svm-block.ts'

const POOL = addressFor('pool')
const USER = addressFor('user')
const [MINT_A, MINT_B] = [addressFor('mint a'), addressFor('mint b')]
const [VAULT_A, VAULT_B] = [addressFor('vault a'), addressFor('vault b')]
const [USER_A, USER_B] = [addressFor('user a'), addressFor('user b')]

/** A checked transfer of Token-2022: its token keeps a fee that it does not state. */
const sent = (
  [from, to]: readonly [string, string],
  amount: bigint,
  mint: string,
  program: string = PROGRAM_IDS.token2022,
): InstructionInput => ({
  program,
  accounts: [from, mint, to, USER],
  data: Buffer.concat([Buffer.from([12]), u64le(amount), Buffer.from([6])]),
})

const FORMS: Readonly<Record<string, Pick<InstructionInput, 'program' | 'data' | 'accounts'>>> = {
  'Raydium CLMM': {
    program: PROGRAM_IDS.raydiumClmm,
    data: '851d59df45eeb00a',
    accounts: buildAccountList(16, { 0: USER, 2: POOL, 9: VAULT_A, 10: VAULT_B }),
  },
  Orca: {
    program: PROGRAM_IDS.orcaWhirlpool,
    data: '851d59df45eeb00a',
    accounts: buildAccountList(16, { 0: POOL, 4: USER, 11: VAULT_A, 12: VAULT_B }),
  },
  'Meteora DAMM v1': {
    program: PROGRAM_IDS.meteoraDammV1,
    data: 'a8e3323ebdab54b0',
    accounts: buildAccountList(16, { 0: POOL, 9: VAULT_A, 10: VAULT_B, 13: USER }),
  },
}

/** Amounts of the deposits of one transaction whose vaults gained these. */
const deposits = (
  form: Pick<InstructionInput, 'program' | 'data' | 'accounts'>,
  calls: readonly (readonly InstructionInput[])[],
  [gainedA, gainedB]: readonly [bigint, bigint],
) => {
  const tokenBalances = [
    buildTokenBalance(VAULT_A, POOL, MINT_A, { preRaw: 5n, postRaw: 5n + gainedA }),
    buildTokenBalance(VAULT_B, POOL, MINT_B, { preRaw: null, postRaw: gainedB }),
  ]
  const grown = calls.map((each): InstructionInput => ({ ...form, calls: each }))
  const { poolChanges } = decodeInstructions(grown, { tokenBalances })
  return poolChanges.map(({ kind, amountARaw, amountBRaw }) => [kind, amountARaw, amountBRaw])
}

for (const [name, form] of Object.entries(FORMS)) {
  test(`${name}: a deposit counts what the pool received of a token with a transfer fee`, () => {
    const a = sent([USER_A, VAULT_A], 300n, MINT_A)
    const b = sent([USER_B, VAULT_B], 70n, MINT_B)
    assert.deepEqual(deposits(form, [[a, b]], [297n, 70n]), [['increase', 297n, 70n]])
    const twice = deposits(form, [[a, b], [sent([USER_A, VAULT_A], 100n, MINT_A)]], [396n, 70n])
    assert.deepEqual(twice, [
      ['increase', 297n, 70n],
      ['increase', 99n, 0n],
    ])
  })

  test(`${name}: without a transfer fee, or without its balances, a deposit counts as sent`, () => {
    const plain = [
      sent([USER_A, VAULT_A], 300n, MINT_A, PROGRAM_IDS.token),
      sent([USER_B, VAULT_B], 70n, MINT_B, PROGRAM_IDS.token),
    ]
    assert.deepEqual(deposits(form, [plain], [1n, 1n]), [['increase', 300n, 70n]])
    const both = [sent([USER_A, VAULT_A], 300n, MINT_A), sent([USER_B, VAULT_B], 70n, MINT_B)]
    assert.deepEqual(deposits(form, [both], [400n, 80n]), [['increase', 300n, 70n]])
  })
}
