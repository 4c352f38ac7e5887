import {
  type Address,
  decodeAbiParameters,
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  maxUint256,
  parseAbi,
  parseAbiParameters,
  parseSignature,
  recoverTypedDataAddress,
  serializeSignature,
} from 'viem'

/** Permit2: allowances that end, and that an owner can sign. Source: Uniswap/permit2 src/AllowanceTransfer.sol, src/libraries/PermitHash.sol. */

const STRUCTS = [
  'struct PermitDetails { address token; uint160 amount; uint48 expiration; uint48 nonce; }',
  'struct PermitSingle { PermitDetails details; address spender; uint256 sigDeadline; }',
] as const
const PERMIT2 = parseAbi([
  ...STRUCTS,
  'function allowance(address user, address token, address spender) view returns (uint160 amount, uint48 expiration, uint48 nonce)',
  'function approve(address token, address spender, uint160 amount, uint48 expiration)',
  'function permit(address owner, PermitSingle permitSingle, bytes signature)',
])
const ALLOWANCE = parseAbiParameters('uint160, uint48, uint48')
const PERMIT_INPUT = parseAbiParameters(['PermitSingle permitSingle, bytes signature', ...STRUCTS])
const TYPES = {
  PermitSingle: [
    { name: 'details', type: 'PermitDetails' },
    { name: 'spender', type: 'address' },
    { name: 'sigDeadline', type: 'uint256' },
  ],
  PermitDetails: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint160' },
    { name: 'expiration', type: 'uint48' },
    { name: 'nonce', type: 'uint48' },
  ],
} as const
const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const

/** An allowance for one spender and one token. */
export interface PermitSingle {
  readonly token: string
  readonly amountRaw: bigint
  /** Unix seconds at which the allowance ends. */
  readonly expiration: number
  readonly nonce: number
  readonly spender: string
  /** Unix seconds until which the signature is taken. */
  readonly sigDeadline: bigint
}

/** What Permit2 lets a spender take now. */
export interface Permit2Allowance {
  readonly amountRaw: bigint
  readonly expiration: number
  /** That of the next permit. */
  readonly nonce: number
}

/** Where a permit counts. */
export interface PermitDomain {
  readonly chainId: number
  readonly permit2: string
}

/** Largest amount that Permit2 counts. */
export const MAX_PERMIT_AMOUNT = (1n << 160n) - 1n
/** Lets Permit2 take any amount: it takes only what a permit or an allowance of its own names. */
export const MAX_APPROVAL = maxUint256

/** Asks Permit2 what a spender may take. */
export const permit2AllowanceData = (owner: string, token: string, spender: string): Hex =>
  encodeFunctionData({
    abi: PERMIT2,
    functionName: 'allowance',
    args: [owner as Address, token as Address, spender as Address],
  })

/** The answer to it; an empty allowance for anything else. */
export const readPermit2Allowance = (answer: unknown): Permit2Allowance => {
  if (typeof answer !== 'string' || !/^0x[0-9a-fA-F]{192}$/.test(answer)) {
    return { amountRaw: 0n, expiration: 0, nonce: 0 }
  }
  const [amountRaw, expiration, nonce] = decodeAbiParameters(ALLOWANCE, answer as Hex)
  return { amountRaw, expiration, nonce }
}

/** The call by which an owner lets a spender take tokens through Permit2 without a signature. */
export const permit2ApproveData = (permit: PermitSingle): Hex => {
  const { token, spender, amountRaw, expiration } = permit
  return encodeFunctionData({
    abi: PERMIT2,
    functionName: 'approve',
    args: [token as Address, spender as Address, amountRaw, expiration],
  })
}

const structOf = (permit: PermitSingle) => ({
  details: {
    token: permit.token as Address,
    amount: permit.amountRaw,
    expiration: permit.expiration,
    nonce: permit.nonce,
  },
  spender: permit.spender as Address,
  sigDeadline: permit.sigDeadline,
})

const domainOf = ({ chainId, permit2 }: PermitDomain) => ({
  name: 'Permit2',
  chainId,
  verifyingContract: permit2 as Address,
})

/** EIP-712 typed data of a permit as wallets take it; numbers that a double does not hold are texts. */
export const permitTypedData = (domain: PermitDomain, permit: PermitSingle) => {
  const { details, spender, sigDeadline } = structOf(permit)
  return {
    domain: domainOf(domain),
    types: { EIP712Domain: DOMAIN_TYPE, ...TYPES },
    primaryType: 'PermitSingle' as const,
    message: {
      details: { ...details, amount: details.amount.toString() },
      spender,
      sigDeadline: sigDeadline.toString(),
    },
  }
}

/** A permit and its signature as Permit2 takes them after the owner: the input of the router's command. */
export const permitInput = (permit: PermitSingle, signature: Hex): Hex =>
  encodeAbiParameters(PERMIT_INPUT, [structOf(permit), signature])

/** Who signed a permit, lower case; undefined where the signature is not one. */
export const permitSigner = async (
  domain: PermitDomain,
  permit: PermitSingle,
  signature: Hex,
): Promise<string | undefined> => {
  const message = structOf(permit)
  const typed = { domain: domainOf(domain), types: TYPES, primaryType: 'PermitSingle' } as const
  try {
    return (await recoverTypedDataAddress({ ...typed, message, signature })).toLowerCase()
  } catch {
    return undefined
  }
}

/** A signature of 65 bytes with the last byte as contracts take it (27, 28); undefined for anything else. */
export const normalSignature = (hex: Hex): Hex | undefined => {
  if (hex.length !== 132) return undefined
  try {
    const { r, s, yParity } = parseSignature(hex)
    return serializeSignature({ r, s, yParity })
  } catch {
    return undefined
  }
}

/** Reads a call of Permit2's `permit`; undefined for anything else. */
export const readPermitCall = (
  data: Hex,
):
  | { readonly owner: string; readonly permit: PermitSingle; readonly signature: Hex }
  | undefined => {
  try {
    const { functionName, args } = decodeFunctionData({ abi: PERMIT2, data })
    if (functionName !== 'permit') return undefined
    const [owner, { details, spender, sigDeadline }, signature] = args
    const { token, amount, expiration, nonce } = details
    const addresses = { token: token.toLowerCase(), spender: spender.toLowerCase() }
    return {
      owner: owner.toLowerCase(),
      signature,
      permit: { ...addresses, amountRaw: amount, expiration, nonce, sigDeadline },
    }
  } catch {
    return undefined
  }
}
