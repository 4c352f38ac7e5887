import { base58Decode } from '../../core/base58.ts'
import {
  ASSOCIATED_TOKEN_PROGRAM,
  accountsOf,
  associatedTokenAddress,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  used,
} from './solana-calls.ts'
import { programAddress, type SolanaInstruction } from './solana-message.ts'
import { CURVE, PUMP } from './solana-venues.ts'

/** A token as pump.fun is to make it. */
export interface PumpFunToken {
  readonly mint: string
  /** Signs, pays, and gets the creator's part of the fees. */
  readonly creator: string
  readonly name: string
  readonly symbol: string
  /** Address of the document with picture and description. */
  readonly uri: string
  /** Whether traders get the creator's part of the fees; undefined is not said, which means no. */
  readonly cashback: boolean | undefined
}

/** Program of the mode in which virtual reserves are moved; `create_v2` names it for every token. */
const MAYHEM = 'MAyhSmzXzV1pTf7LsNkrNwkWKTo4ougAJ1PPg47MD4e'
const CREATE_V2 = 'd6904cec5f8b31b4'
/** Shortest account of a curve that says who made it and how. */
const CURVE_BYTES = 83

const text = (value: string): Buffer => {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  return Buffer.concat([length, bytes])
}

const keyOf = (key: string): Uint8Array => base58Decode(key) ?? new Uint8Array()

const createData = ({ name, symbol, uri, creator, cashback }: PumpFunToken): Uint8Array =>
  Buffer.concat([
    Buffer.from(CREATE_V2, 'hex'),
    ...[text(name), text(symbol), text(uri), keyOf(creator)],
    // Not in mayhem mode.
    Buffer.from([0]),
    Buffer.from(cashback === undefined ? [] : [cashback ? 1 : 0]),
  ])

/** The curve of a token. */
export const curveOf = (mint: string): Promise<string> =>
  programAddress(PUMP, [{ word: 'bonding-curve' }, { key: mint }])

/** Data of the account of a new curve, as far as a purchase reads it. */
export const newCurveData = ({ creator, cashback }: PumpFunToken): Uint8Array => {
  const data = Buffer.alloc(CURVE_BYTES)
  data.set(keyOf(creator), CURVE.creator)
  data.writeUInt8(cashback === true ? 1 : 0, CURVE.isCashback)
  return data
}

/**
 * The instruction that makes a token of Token-2022 and its curve, quoted in SOL; the mint signs it too. Source: idl/pump.json,
 * docs/instructions/COIN_CREATION.md of pump-fun/pump-public-docs.
 */
export const createV2 = async (token: PumpFunToken): Promise<SolanaInstruction> => {
  const { mint, creator } = token
  const curve = await curveOf(mint)
  const mayhemVault = await programAddress(MAYHEM, [{ word: 'sol-vault' }])
  const vaultOf = (owner: string) => associatedTokenAddress(owner, mint, TOKEN_2022_PROGRAM)
  return {
    program: PUMP,
    data: createData(token),
    accounts: accountsOf(
      used(mint, 'sign'),
      await programAddress(PUMP, [{ word: 'mint-authority' }]),
      ...[used(curve, 'write'), used(await vaultOf(curve), 'write')],
      await programAddress(PUMP, [{ word: 'global' }]),
      ...[used(creator, 'sign'), SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, ASSOCIATED_TOKEN_PROGRAM],
      used(MAYHEM, 'write'),
      await programAddress(MAYHEM, [{ word: 'global-params' }]),
      used(mayhemVault, 'write'),
      used(await programAddress(MAYHEM, [{ word: 'mayhem-state' }, { key: mint }]), 'write'),
      used(await vaultOf(mayhemVault), 'write'),
      await programAddress(PUMP, [{ word: '__event_authority' }]),
      PUMP,
    ),
  }
}
