import {
  type Address,
  decodeFunctionData,
  encodeFunctionData,
  type Hex,
  hashTypedData,
  keccak256,
  parseAbi,
  parseSignature,
  serializeSignature,
  stringToHex,
  type TypedDataDomain,
} from 'viem'
import type { TokenPermitWords } from '../../schemas/api/swap.ts'

/**
 * The two forms of permits that tokens take themselves: of an amount (EIP-2612), and DAI's own, of all or nothing. Source: EIPS/eip-2612.md;
 * `permit` of DAI as it is on Ethereum (makerdao/dss); Uniswap/v3-periphery contracts/base/SelfPermit.sol.
 */

const EIP_2612 = parseAbi([
  'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
])
const DAI = parseAbi([
  'function permit(address holder, address spender, uint256 nonce, uint256 expiry, bool allowed, uint8 v, bytes32 r, bytes32 s)',
])
const ROUTER = parseAbi([
  'function selfPermitIfNecessary(address token, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) payable',
  'function selfPermitAllowedIfNecessary(address token, uint256 nonce, uint256 expiry, uint8 v, bytes32 r, bytes32 s) payable',
])
const EIP_2612_TYPES = {
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
} as const
const DAI_TYPES = {
  Permit: [
    { name: 'holder', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'expiry', type: 'uint256' },
    { name: 'allowed', type: 'bool' },
  ],
} as const

/** Which permits a token takes. */
export type PermitForm = 'eip2612' | 'dai'

/** The largest amount that tokens count, and the allowance that a permit of DAI's form gives. */
export const MAX_TOKEN_AMOUNT = (1n << 256n) - 1n

/** An allowance for one spender. */
export interface TokenPermit {
  readonly form: PermitForm
  readonly owner: string
  readonly spender: string
  /** Of DAI's form `MAX_TOKEN_AMOUNT`, which stays until it is revoked, or 0, which revokes it. */
  readonly amountRaw: bigint
  /** Unix seconds until which the token takes it; of DAI's form 0 is for ever. */
  readonly deadline: bigint
}

/** A permit as calls carry it. */
interface SignedCall {
  readonly permit: TokenPermit
  readonly signature: Hex
}

/** What is signed, and who is handed it. */
interface FormRules {
  readonly types: { readonly Permit: readonly { readonly name: string; readonly type: string }[] }
  /** What the typed data has of it; its numbers are texts. */
  readonly words: (permit: TokenPermit, nonceRaw: bigint) => TokenPermitWords['message']
  readonly digest: (domain: TypedDataDomain, permit: TokenPermit, nonceRaw: bigint) => Hex
  /** The router's call that hands it to the token. */
  readonly selfPermit: (token: string, signed: SignedCall, nonceRaw: bigint) => Hex
}

const signatureWords = (signature: Hex): readonly [v: number, r: Hex, s: Hex] => {
  const { r, s, yParity } = parseSignature(signature)
  return [27 + yParity, r, s]
}

const addressesOf = ({ owner, spender }: TokenPermit) => ({
  owner: owner as Address,
  spender: spender as Address,
})

const isAllowed = ({ amountRaw }: TokenPermit): boolean => amountRaw > 0n

const eip2612: FormRules = {
  types: EIP_2612_TYPES,
  words: ({ owner, spender, amountRaw, deadline }, nonceRaw) => ({
    owner,
    spender,
    value: amountRaw.toString(),
    nonce: nonceRaw.toString(),
    deadline: deadline.toString(),
  }),
  digest: (domain, permit, nonce) => {
    const { amountRaw: value, deadline } = permit
    const message = { value, nonce, deadline, ...addressesOf(permit) }
    return hashTypedData({ domain, types: EIP_2612_TYPES, primaryType: 'Permit', message })
  },
  selfPermit: (token, { permit, signature }) => {
    const { amountRaw, deadline } = permit
    return encodeFunctionData({
      abi: ROUTER,
      functionName: 'selfPermitIfNecessary',
      args: [token as Address, amountRaw, deadline, ...signatureWords(signature)],
    })
  },
}

const dai: FormRules = {
  types: DAI_TYPES,
  words: (permit, nonceRaw) => ({
    holder: permit.owner,
    spender: permit.spender,
    nonce: nonceRaw.toString(),
    expiry: permit.deadline.toString(),
    allowed: isAllowed(permit),
  }),
  digest: (domain, permit, nonce) => {
    const { owner: holder, spender } = addressesOf(permit)
    const message = { holder, spender, nonce, expiry: permit.deadline, allowed: isAllowed(permit) }
    return hashTypedData({ domain, types: DAI_TYPES, primaryType: 'Permit', message })
  },
  selfPermit: (token, { permit, signature }, nonceRaw) =>
    encodeFunctionData({
      abi: ROUTER,
      functionName: 'selfPermitAllowedIfNecessary',
      args: [token as Address, nonceRaw, permit.deadline, ...signatureWords(signature)],
    }),
}

/** What differs between the forms. */
export const PERMIT_FORMS: Readonly<Record<PermitForm, FormRules>> = { eip2612, dai }

/** Hash of the type of a form, which tokens state as `PERMIT_TYPEHASH`. */
export const permitTypeHash = (form: PermitForm): Hex => {
  const fields = PERMIT_FORMS[form].types.Permit.map(({ name, type }) => `${type} ${name}`)
  return keccak256(stringToHex(`Permit(${fields.join(',')})`))
}

/** A call of a token's `permit`, which names no token, and of DAI's form alone a nonce. */
export interface PermitCall extends SignedCall {
  readonly nonceRaw?: bigint
}

/** Reads a call of a token's `permit` in either form; undefined for anything else. */
export const readTokenPermitCall = (data: Hex): PermitCall | undefined =>
  readOrNothing(() => readEip2612Call(data)) ?? readOrNothing(() => readDaiCall(data))

const readOrNothing = (read: () => PermitCall | undefined): PermitCall | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

const readEip2612Call = (data: Hex): PermitCall | undefined => {
  const [owner, spender, amountRaw, deadline, v, r, s] = decodeFunctionData({
    abi: EIP_2612,
    data,
  }).args
  const addresses = { owner: owner.toLowerCase(), spender: spender.toLowerCase() }
  const signature = signatureOf(v, r, s)
  const permit = { form: 'eip2612', ...addresses, amountRaw, deadline } as const
  return signature && { permit, signature }
}

const readDaiCall = (data: Hex): PermitCall | undefined => {
  const [holder, spender, nonceRaw, deadline, allowed, v, r, s] = decodeFunctionData({
    abi: DAI,
    data,
  }).args
  const addresses = { owner: holder.toLowerCase(), spender: spender.toLowerCase() }
  const amountRaw = daiAmount(allowed)
  const signature = signatureOf(v, r, s)
  const permit = { form: 'dai', ...addresses, amountRaw, deadline } as const
  return signature && { permit, nonceRaw, signature }
}

/** The allowance that a permit of DAI's form gives. */
export const daiAmount = (allowed: boolean): bigint => (allowed ? MAX_TOKEN_AMOUNT : 0n)

const signatureOf = (v: number, r: Hex, s: Hex): Hex | undefined =>
  v === 27 || v === 28 ? serializeSignature({ r, s, yParity: v === 28 ? 1 : 0 }) : undefined
