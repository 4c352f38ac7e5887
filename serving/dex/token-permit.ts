import {
  type Address,
  decodeAbiParameters,
  domainSeparator,
  encodeFunctionData,
  type Hex,
  parseAbi,
  parseAbiParameters,
  recoverAddress,
} from 'viem'
import { answeredNumber } from './evm-calls.ts'
import {
  MAX_TOKEN_AMOUNT,
  PERMIT_FORMS,
  type PermitForm,
  permitTypeHash,
  type TokenPermit,
} from './permit-forms.ts'

/** Permits that tokens take themselves: what a token says of them, and what is signed. Source: EIPS/eip-2612.md, eip-5267.md. */

const TOKEN = parseAbi([
  'function nonces(address owner)',
  'function DOMAIN_SEPARATOR()',
  'function PERMIT_TYPEHASH()',
  'function eip712Domain()',
  'function name()',
])
const NAME = parseAbiParameters('string')
const DESCRIPTION = parseAbiParameters(
  'bytes1, string, string, uint256, address, bytes32, uint256[]',
)
/** Forms by the hash of their type. */
const FORMS = new Map<bigint, PermitForm>(
  (['eip2612', 'dai'] as const).map((form) => [BigInt(permitTypeHash(form)), form]),
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

/** What a token says of an owner's next permit. */
export interface TokenPermitState {
  readonly form: PermitForm
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

/**
 * Which permits a token takes, and its domain, whose hash is what the token states; undefined where none is, or where its permits have
 * another form. A token that does not state a type takes those of EIP-2612.
 */
export const readPermitTerms = (
  { separator, permitType, description, name }: TokenPermitAnswers,
  contract: Pick<TokenDomain, 'chainId' | 'verifyingContract'>,
): Omit<TokenPermitState, 'nonceRaw'> | undefined => {
  const typeHash = answeredNumber(permitType)
  const form = typeHash === undefined ? 'eip2612' : FORMS.get(typeHash)
  if (form === undefined) return undefined
  const described = readDescription(description, contract)
  const named = readName(name)
  const candidates: readonly TokenDomain[] = [
    ...(described ? [described] : []),
    ...(named === undefined
      ? []
      : COMMON_VERSIONS.map((version) => ({ name: named, version, ...contract }))),
  ]
  const stated = answeredNumber(separator)
  const domain = candidates.find(
    (each) => BigInt(domainSeparator({ domain: domainOf(each) })) === stated,
  )
  return domain && { form, domain }
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

/** A permit that a token takes for what is to be sold: of DAI's form there is none for an amount. */
export const permitFor = (
  { form }: TokenPermitState,
  permit: Omit<TokenPermit, 'form'>,
): TokenPermit => ({
  ...permit,
  form,
  amountRaw: form === 'dai' ? MAX_TOKEN_AMOUNT : permit.amountRaw,
})

/** EIP-712 typed data of a permit as wallets take it; its numbers are texts. */
export const tokenPermitTypedData = (
  { domain, nonceRaw }: TokenPermitState,
  permit: TokenPermit,
) => {
  const { types, words } = PERMIT_FORMS[permit.form]
  return {
    domain: domainOf(domain),
    types: { EIP712Domain: DOMAIN_TYPE.filter(({ name }) => name in domain), ...types },
    primaryType: 'Permit' as const,
    message: words(permit, nonceRaw),
  }
}

/** Who signed a permit, lower case; undefined where the signature is not one. */
export const tokenPermitSigner = async (
  { domain, nonceRaw }: TokenPermitState,
  permit: TokenPermit,
  signature: Hex,
): Promise<string | undefined> => {
  try {
    const hash = PERMIT_FORMS[permit.form].digest(domainOf(domain), permit, nonceRaw)
    return (await recoverAddress({ hash, signature })).toLowerCase()
  } catch {
    return undefined
  }
}

/**
 * The router's call that hands a permit of its caller to the token, unless the allowance is there already: another may have submitted it.
 * The nonce is that of the owner's next permit.
 */
export const selfPermitData = (
  token: string,
  { permit, signature }: { readonly permit: TokenPermit; readonly signature: Hex },
  nonceRaw: bigint,
): Hex => PERMIT_FORMS[permit.form].selfPermit(token, { permit, signature }, nonceRaw)
