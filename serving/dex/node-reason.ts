import { revertMessage } from './call-runner.ts'

const MAX_LENGTH = 200
/** Longest revert data that is decoded, as text: an answer of a node may have kilobytes. */
const MAX_DATA_LENGTH = 16_384
/** What callers get of every other error: nodes also speak of the account of their operator. */
const OTHER = 'the node refused the transaction'

/** Errors that nodes word alike, for reasons of the transaction. Source: go-ethereum core/error.go, core/vm/errors.go; agave, TransactionError. */
const WORDS: readonly string[] = [
  ...['insufficient funds for gas * price + value', 'insufficient funds for transfer'],
  ...['insufficient funds for fee', 'insufficient funds for rent', 'insufficient funds'],
  ...['nonce too low', 'nonce too high', 'intrinsic gas too low', 'out of gas'],
  ...['gas required exceeds allowance', 'max fee per gas less than block base fee'],
  ...[
    'max priority fee per gas higher than max fee per gas',
    'replacement transaction underpriced',
  ],
  ...['transaction underpriced', 'exceeds block gas limit', 'tx fee exceeds the configured cap'],
  ...['invalid opcode', 'stack underflow', 'vm execution error', 'max initcode size exceeded'],
  ...['blockhash not found', 'already been processed', 'no record of a prior credit'],
  ...['signature verification failure', 'account in use', 'too large'],
]

/** An instruction of Solana that failed: its number, and the program's code or the runtime's name of the error. */
const INSTRUCTION =
  /Error processing Instruction \d{1,3}: (?:custom program error: 0x[0-9a-f]{1,16}|[A-Za-z ]{1,60})/
/** What a contract says where it reverts, as nodes put it. */
const REVERT = /revert(?:ed)?(?: with reason(?: string)?)?[: ]*['"]?([^'"]*)/i

const printable = (text: string): string =>
  text
    .replaceAll(/[^\x20-\x7e]/g, '')
    .trim()
    .slice(0, MAX_LENGTH)

/** Revert data of a node's error, which some nodes write after `Reverted`; undefined: the data is something else. */
const revertData = (given: unknown): `0x${string}` | undefined => {
  const text = typeof given === 'string' ? given.slice(0, MAX_DATA_LENGTH) : ''
  return /^(?:Reverted )?(0x[0-9a-f]{8,})$/i.exec(text)?.[1] as `0x${string}` | undefined
}

/** The part of a node's error that follows from the transaction, for callers: why a contract or a program fails, what an account lacks; else a fixed text. */
export const nodeReason = (message: string, data?: unknown): string => {
  const bytes = revertData(data)
  const reverted = (bytes && revertMessage(bytes)) ?? REVERT.exec(message)?.[1]
  if (reverted !== undefined) {
    const reason = printable(reverted)
    return reason === '' ? 'execution reverted' : `execution reverted: ${reason}`
  }
  const instruction = INSTRUCTION.exec(message)?.[0]
  if (instruction !== undefined) return instruction
  const lower = message.toLowerCase()
  return WORDS.find((words) => lower.includes(words)) ?? OTHER
}
