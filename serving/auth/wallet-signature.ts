import { createHash } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1'
import {
  encodeDeployData,
  encodeFunctionData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  type Hex,
  hashMessage,
  isErc6492Signature,
  parseAbi,
  recoverMessageAddress,
} from 'viem'
import { base58Decode } from '../../core/base58.ts'
import { isEd25519Signature } from '../../core/ed25519.ts'
import type { WalletKind } from './siwx-message.ts'

/** A message, who should have signed it, and the signature as the client wrote it. */
export interface SignedMessage {
  readonly kind: WalletKind
  readonly address: string
  readonly message: string
  readonly signature: string
}

/** Longest text of a signature: 8 KiB in hex with their prefix, room for what makes a contract wallet. */
export const MAX_SIGNATURE_LENGTH = 16_386
/** Longest text of the 64 bytes of a Solana signature, in hex with a prefix. */
const MAX_SOLANA_SIGNATURE_LENGTH = 130

/** What a key says of a signature; `unknown`: it is not of the account's own key, and a contract at the address may take it. */
export type KeyAnswer = 'good' | 'wrong' | 'unknown'

/** A call of `eth_call`. Without `to` it runs code that is not on the chain. */
export interface ContractCall {
  readonly to?: Hex
  readonly data: Hex
}

const EVM_SIGNATURE = /^0x[0-9a-fA-F]{130}$/
const HEX_BYTES = /^0x(?:[0-9a-fA-F]{2})*$/
/** Places of `s` and `v` in the hex of a signature `r || s || v`. */
const [S_AT, V_AT] = [66, 130]
/** The two values of `v`; its other writing, 0 and 1, is not taken. Source: EIP-191. */
const RECOVERY_BYTES: ReadonlySet<string> = new Set(['1b', '1c'])
/** Above it, `n - s` signs the same message too: of the two only the lower is taken. Source: EIP-2. */
const HALF_ORDER = secp256k1.CURVE.n / 2n
const ED25519_BYTES = 64

/** Source: EIP-1271. */
const CONTRACT_WALLET_ABI = parseAbi([
  'function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)',
])
/** What a contract wallet answers for a good signature, as the ABI writes it: a contract that sends its input back says something else. */
const GOOD_SIGNATURE = `0x1626ba7e${'0'.repeat(56)}`

/**
 * Whether the key of the account signed the message: EIP-191 `personal_sign` of an EVM account, or Ed25519 (RFC 8032, strict) over the
 * UTF-8 text of a Solana account, written in base 58, hex or base 64.
 */
export const verifyKeySignature = async (signed: SignedMessage): Promise<KeyAnswer> => {
  if (signed.kind === 'solana') return isSignedBySolana(signed) ? 'good' : 'wrong'
  if (await isSignedByEvm(signed)) return 'good'
  const { signature } = signed
  return signature.length <= MAX_SIGNATURE_LENGTH && HEX_BYTES.test(signature) ? 'unknown' : 'wrong'
}

/** One text for a signed message, also where its signature is written in another way: letters of hex, base 58, hex or base 64. */
export const signatureDigest = (signed: SignedMessage): string => {
  const { kind, address, message } = signed
  const parts = [kind, address, normalizeSignature(signed), message]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64')
}

/** A signature that is taken in no way of writing stays as it is. */
const normalizeSignature = ({ kind, signature }: SignedMessage): string => {
  if (kind === 'evm') return HEX_BYTES.test(signature) ? signature.toLowerCase() : signature
  const readings = signatureReadings(signature).map((bytes) => Buffer.from(bytes).toString('hex'))
  return readings.length === 0 ? signature : readings.join()
}

/** Whether a signature has the length that one of an account's own key has. */
export const hasKeyLength = (signature: string): boolean => EVM_SIGNATURE.test(signature)

/**
 * The call that asks a contract wallet for a signature: EIP-1271, or where the signature says how the wallet is made the validator of
 * ERC-6492, which makes it for the time of the call. The signature is hex.
 */
export const contractSignatureCall = ({
  address,
  message,
  signature,
}: SignedMessage): ContractCall => {
  const hash: Hex = hashMessage(message)
  if (isErc6492Signature(signature as Hex)) {
    const args = [address as Hex, hash, signature as Hex] as const
    const abi = erc6492SignatureValidatorAbi
    return { data: encodeDeployData({ abi, bytecode: erc6492SignatureValidatorByteCode, args }) }
  }
  const args = [hash, signature as Hex] as const
  const data = encodeFunctionData({
    abi: CONTRACT_WALLET_ABI,
    functionName: 'isValidSignature',
    args,
  })
  return { to: address as Hex, data }
}

/** Whether what such a call gave says that the signature is good: the word of the wallet, or the one byte of the validator. */
export const isGoodSignatureResult = ({ to }: ContractCall, result: string): boolean =>
  to === undefined ? result === '0x01' : result.toLowerCase().startsWith(GOOD_SIGNATURE)

/** Whether a signature of an EVM account is written in the one way that is taken: 65 bytes in hex, the lower `s`, `v` 27 or 28. */
export const isCanonicalEvmSignature = (signature: string): boolean =>
  EVM_SIGNATURE.test(signature) &&
  RECOVERY_BYTES.has(signature.slice(V_AT).toLowerCase()) &&
  BigInt(`0x${signature.slice(S_AT, V_AT)}`) <= HALF_ORDER

const isSignedByEvm = async ({ address, message, signature }: SignedMessage): Promise<boolean> => {
  if (!isCanonicalEvmSignature(signature)) return false
  // No key of the curve fits: what a library throws here says no more than that.
  const signer = await recoverMessageAddress({ message, signature: signature as Hex }).catch(
    () => '',
  )
  return signer.toLowerCase() === address
}

const isSignedBySolana = ({ address, message, signature }: SignedMessage): boolean => {
  const key = base58Decode(address)
  if (key === undefined) return false
  const bytes = Buffer.from(message)
  return signatureReadings(signature).some((reading) => isEd25519Signature(reading, bytes, key))
}

/** What 64 bytes a text may stand for. */
const signatureReadings = (text: string): readonly Uint8Array[] => {
  if (text.length > MAX_SOLANA_SIGNATURE_LENGTH) return []
  const hex = text.replace(/^0x/, '')
  const readings: (Uint8Array | undefined)[] = /^[0-9a-fA-F]{128}$/.test(hex)
    ? [Buffer.from(hex, 'hex')]
    : [
        base58Decode(text),
        /^[A-Za-z0-9+/_-]{86}(==)?$/.test(text) ? Buffer.from(text, 'base64') : undefined,
      ]
  return readings.filter((reading) => reading?.length === ED25519_BYTES) as Uint8Array[]
}
