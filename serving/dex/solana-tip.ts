import { randomInt } from 'node:crypto'
import { Fault } from '../../core/errors.ts'
import { transferSol } from './solana-calls.ts'
import type { SolanaInstruction } from './solana-message.ts'
import { parseLamports } from './swap-terms.ts'

/** Least tip that Jito's block engine takes, lamports. Source: docs.jito.wtf, low latency transaction send. */
const LEAST_TIP = 1_000n

/** Accounts that take tips. Source: docs.jito.wtf, tip accounts. */
export const TIP_ACCOUNTS = [
  '96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5',
  'HFqU5x63VTqvQss8hp11i4wVV8bD44PvwucfZ2bU7gRe',
  'Cw8CFyM9FkoMi7K7Crf6HNQqf4uEMzpKw6QNghXLvLkY',
  'ADaUMid9yfUytqMBgopwjb2DTLSokTSzL1zt6iGPaS49',
  'DfXygSm4jCyNCybVYYK6DwvWqjKee8pbDmJGcLWNDXjh',
  'ADuUkR4vqLUMWXxW9gh6D6L8pMSawimctcNZ5pGwDcEt',
  'DttWaMuVvTiduZRnguLF7jNxTgiMBZ1hyAumKUiL2KRL',
  '3AVi9Tg9Uo68tJfuvoKvqKNWKkC5wPdSSdeBnizKZ6jT',
] as const

/**
 * The tip of a request in lamports, 0 for none: `tipFee`, and with `isAntiMev` alone the least one. Throws `Fault` FEE_PARAMETER_ERROR for
 * a tip that is not an amount, above 10 SOL, or below the least.
 */
export const parseTip = (words: {
  readonly tipFee?: string | undefined
  readonly isAntiMev?: boolean | undefined
}): bigint => {
  if (words.tipFee === undefined) return words.isAntiMev === true ? LEAST_TIP : 0n
  const tip = parseLamports(words.tipFee, 'tipFee')
  if (tip >= LEAST_TIP) return tip
  throw new Fault('FEE_PARAMETER_ERROR', undefined, {
    parameter: 'tipFee',
    value: words.tipFee,
    minimum: LEAST_TIP.toString(),
  })
}

/** The transfer of a tip to one of the accounts, a different one each time so that tips do not wait for each other; none for 0. */
export const tipCalls = (owner: string, tip: bigint): readonly SolanaInstruction[] =>
  tip === 0n
    ? []
    : [transferSol(owner, TIP_ACCOUNTS[randomInt(TIP_ACCOUNTS.length)] ?? TIP_ACCOUNTS[0], tip)]
