import {
  type Address,
  decodeAbiParameters,
  decodeFunctionData,
  domainSeparator,
  encodeFunctionData,
  type Hex,
  keccak256,
  parseAbi,
  parseAbiParameters,
  parseSignature,
  recoverTypedDataAddress,
  serializeSignature,
  stringToHex,
} from 'viem'
import { answeredNumber } from './evm-calls.ts'

/** Permits that tokens take themselves (EIP-2612). Source: EIPS/eip-2612.md, eip-5267.md; Uniswap/v3-periphery contracts/base/SelfPermit.sol. */

const TOKEN = parseAbi([
  'function nonces(address owner)',
  'function DOMAIN_SEPARATOR()',
  'function PERMIT_TYPEHASH()',
  'function eip712Domain()',
  'function name()',
  'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
])
const ROUTER = parseAbi([
  'function selfPermitIfNecessary(address token, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) payable',
])
const NAME = parseAbiParameters('string')
const DESCRIPTION = parseAbiParameters(
  'bytes1, string, string, uint256, address, bytes32, uint256[]',
)
const TYPES = {
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
} as const
/** Hash of the type above, which tokens with another form of permit, such as DAI, answer differently. */
const PERMIT_TYPEHASH = keccak256(
  stringToHex(`Permit(${TYPES.Permit.map(({ name, type }) => `${type} ${name}`).join(',')})`),
)
const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const
/** Bits of EIP-5267: a domain with name, version, chain id and contract, or without the first two. */
const FIELD_BITS = { name: 1, version: 2, required: 4 | 8 } as const
/** Versions of tokens that do not describe their domain. */
const COMMON_VERSIONS = ['1', '2'] as const
/** Longest name or version that is shown, and longest answer of a token that is read, hex digits. */
const [MAX_NAME_LENGTH, MAX_ANSWER_LENGTH] = [128, 4_096]

/** EIP-712 domain of a token; what is missing is not a part of it. */
export interface TokenDomain {
  readonly name?: string
  readonly version?: string
  readonly chainId: number
  /** The token. */
  readonly verifyingContract: string
}

/** An allowance for one spender. */
export interface TokenPermit {
  readonly owner: string
  readonly spender: string
  readonly amountRaw: bigint
  /** Unix seconds until which the token takes it. */
  readonly deadline: bigint
}

/** What a token says of an owner's next permit. */
export interface TokenPermitState {
  readonly domain: TokenDomain
  readonly nonceRaw: bigint
}

/** Answers of a token, as the node gave them. */
export interface TokenPermitAnswers {
  readonly separator: unknown
  readonly permitType: unknown
  readonly description: unknown
  readonly name: unknown
}

/** Asks a token for the nonce of an owner's next permit. */
export const permitNonceData = (owner: string): Hex =>
  encodeFunctionData({ abi: TOKEN, functionName: 'nonces', args: [owner as Address] })

/** Asks a token for its domain, in every way in which tokens tell it. */
export const PERMIT_QUESTIONS: Readonly<Record<keyof TokenPermitAnswers, Hex>> = {
  separator: encodeFunctionData({ abi: TOKEN, functionName: 'DOMAIN_SEPARATOR' }),
  permitType: encodeFunctionData({ abi: TOKEN, functionName: 'PERMIT_TYPEHASH' }),
  description: encodeFunctionData({ abi: TOKEN, functionName: 'eip712Domain' }),
  name: encodeFunctionData({ abi: TOKEN, functionName: 'name' }),
}

const domainOf = ({ verifyingContract, ...rest }: TokenDomain) => ({
  ...rest,
  verifyingContract: verifyingContract as Address,
})

/** The domain of a token whose hash is what the token states; undefined where none is, or where its permits have another form. */
export const readTokenDomain = (
  { separator, permitType, description, name }: TokenPermitAnswers,
  contract: Pick<TokenDomain, 'chainId' | 'verifyingContract'>,
): TokenDomain | undefined => {
  const typeHash = answeredNumber(permitType)
  if (typeHash !== undefined && typeHash !== BigInt(PERMIT_TYPEHASH)) return undefined
  const described = readDescription(description, contract)
  const named = readName(name)
  const candidates: readonly TokenDomain[] = [
    ...(described ? [described] : []),
    ...(named === undefined
      ? []
      : COMMON_VERSIONS.map((version) => ({ name: named, version, ...contract }))),
  ]
  const stated = answeredNumber(separator)
  return candidates.find(
    (domain) => BigInt(domainSeparator({ domain: domainOf(domain) })) === stated,
  )
}

const isShort = (answer: unknown): answer is Hex =>
  typeof answer === 'string' && answer.length <= MAX_ANSWER_LENGTH

const readName = (answer: unknown): string | undefined => {
  if (!isShort(answer)) return undefined
  try {
    const [name] = decodeAbiParameters(NAME, answer)
    return name.length <= MAX_NAME_LENGTH ? name : undefined
  } catch {
    return undefined
  }
}

/** The domain that a token describes (EIP-5267), unless it is for another contract or chain, or has more fields. */
const readDescription = (
  answer: unknown,
  contract: Pick<TokenDomain, 'chainId' | 'verifyingContract'>,
): TokenDomain | undefined => {
  if (!isShort(answer)) return undefined
  try {
    const [bits, name, version, chainId, address, , more] = decodeAbiParameters(DESCRIPTION, answer)
    const fields = Number(bits)
    const isOther = chainId !== BigInt(contract.chainId)
    if (isOther || address.toLowerCase() !== contract.verifyingContract) return undefined
    const hasStandardFields =
      (fields & ~(FIELD_BITS.name | FIELD_BITS.version)) === FIELD_BITS.required
    const isLong = name.length > MAX_NAME_LENGTH || version.length > MAX_NAME_LENGTH
    if (!hasStandardFields || isLong || more.length > 0) return undefined
    return {
      ...((fields & FIELD_BITS.name) > 0 && { name }),
      ...((fields & FIELD_BITS.version) > 0 && { version }),
      ...contract,
    }
  } catch {
    return undefined
  }
}

const messageOf = ({ owner, spender, amountRaw, deadline }: TokenPermit, nonce: bigint) => ({
  owner: owner as Address,
  spender: spender as Address,
  value: amountRaw,
  nonce,
  deadline,
})

/** EIP-712 typed data of a permit as wallets take it; its numbers are texts. */
export const tokenPermitTypedData = (
  { domain, nonceRaw }: TokenPermitState,
  permit: TokenPermit,
) => {
  const { owner, spender, value, nonce, deadline } = messageOf(permit, nonceRaw)
  return {
    domain: domainOf(domain),
    types: { EIP712Domain: DOMAIN_TYPE.filter(({ name }) => name in domain), ...TYPES },
    primaryType: 'Permit' as const,
    message: {
      owner,
      spender,
      value: value.toString(),
      nonce: nonce.toString(),
      deadline: deadline.toString(),
    },
  }
}

/** Who signed a permit, lower case; undefined where the signature is not one. */
export const tokenPermitSigner = async (
  { domain, nonceRaw }: TokenPermitState,
  permit: TokenPermit,
  signature: Hex,
): Promise<string | undefined> => {
  const typed = { domain: domainOf(domain), types: TYPES, primaryType: 'Permit' } as const
  try {
    const message = messageOf(permit, nonceRaw)
    return (await recoverTypedDataAddress({ ...typed, message, signature })).toLowerCase()
  } catch {
    return undefined
  }
}

/** The router's call that hands a permit of its caller to the token, unless the allowance is there already: another may have submitted it. */
export const selfPermitData = (token: string, permit: TokenPermit, signature: Hex): Hex => {
  const { r, s, yParity } = parseSignature(signature)
  const { amountRaw, deadline } = permit
  return encodeFunctionData({
    abi: ROUTER,
    args: [token as Address, amountRaw, deadline, 27 + yParity, r, s],
  })
}

/** Reads a call of a token's `permit`, which names neither token nor nonce; undefined for anything else. */
export const readTokenPermitCall = (
  data: Hex,
): { readonly permit: TokenPermit; readonly signature: Hex } | undefined => {
  try {
    const { functionName, args } = decodeFunctionData({ abi: TOKEN, data })
    if (functionName !== 'permit') return undefined
    const [owner, spender, amountRaw, deadline, v, r, s] = args
    if (v !== 27 && v !== 28) return undefined
    const addresses = { owner: owner.toLowerCase(), spender: spender.toLowerCase() }
    return {
      permit: { ...addresses, amountRaw, deadline },
      signature: serializeSignature({ r, s, yParity: v === 28 ? 1 : 0 }),
    }
  } catch {
    return undefined
  }
}
