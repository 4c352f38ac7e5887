import { concatHex, type Hex, numberToHex, size, slice } from 'viem'

/** A call of a contract that makes nothing else. */
export interface ContractCall {
  readonly to: Hex
  readonly data?: Hex
  readonly value?: bigint
}

const WORD = 32
const [PUSH0, MSTORE, ISZERO, JUMPI, GAS, CALL, STOP] = [
  ...(['0x5f', '0x52', '0x15', '0x57'] as const),
  ...(['0x5a', '0xf1', '0x00'] as const),
]
const push2 = (number: number): Hex => concatHex(['0x61', numberToHex(number, { size: 2 })])
const push32 = (word: Hex): Hex => concatHex(['0x7f', word])
/** Where the code reverts: behind a jump over it, at the start. */
const REVERT_AT = 4
const START = '0x6008565b5f5ffd005b' as Hex

const codeOf = ({ to, data = '0x', value = 0n }: ContractCall): Hex => {
  const length = size(data)
  const padded = concatHex([data, `0x${'00'.repeat((WORD - (length % WORD)) % WORD)}`])
  const stores = Array.from({ length: size(padded) / WORD }, (_, index) => {
    const at = index * WORD
    return concatHex([push32(slice(padded, at, at + WORD)), push2(at), MSTORE])
  })
  const input = [PUSH0, PUSH0, push2(length), PUSH0, push32(numberToHex(value, { size: WORD }))]
  const call = [...input, concatHex(['0x73', to]), GAS, CALL] as const
  return concatHex([...stores, ...call, ISZERO, push2(REVERT_AT - 1), JUMPI])
}

/** Code of a contract that, however it is called, makes these calls one after the other and reverts where one of them does. */
export const callingCode = (calls: readonly ContractCall[]): Hex =>
  concatHex([START, ...calls.map(codeOf), STOP])
