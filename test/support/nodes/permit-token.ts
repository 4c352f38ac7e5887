import { readFileSync } from 'node:fs'
import {
  type Address,
  concatHex,
  encodeAbiParameters,
  type Hex,
  keccak256,
  parseAbi,
  parseAbiParameters,
  stringToHex,
} from 'viem'
import { until } from '../until.ts'
import type { AnvilClient } from './anvil.ts'

/** Creation code of `permit-token.sol`: solc 0.8.30, optimizer runs 200, viaIR, evm paris, no metadata. */
const CODE = readFileSync(new URL('./permit-token.hex', import.meta.url), 'utf8').trim() as Hex
/** That of `dai-token.sol`, compiled in the same way. */
const DAI_CODE = readFileSync(new URL('./dai-token.hex', import.meta.url), 'utf8').trim() as Hex
const DAI_TERMS = parseAbiParameters('string, uint256')
const TERMS = parseAbiParameters('string, string, string, bool, bytes32, uint256')
const PERMIT =
  'Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)' as const
const SUPPLY = 10n ** 27n

/** What tests ask of the contract itself. */
export const PERMIT_TOKEN_ABI = parseAbi([
  'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  'function nonces(address owner) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
  'function approve(address spender, uint256 amount) returns (bool)',
  'function transfer(address to, uint256 amount) returns (bool)',
])

/** The same of a token whose permits have DAI's form. */
export const DAI_PERMIT_ABI = parseAbi([
  'function permit(address holder, address spender, uint256 nonce, uint256 expiry, bool allowed, uint8 v, bytes32 r, bytes32 s)',
])

/** How a token names itself and its domain. */
export interface PermitTokenTerms {
  readonly name: string
  readonly domainName: string
  readonly version: string
  /** It answers `eip712Domain()`. */
  readonly isDescribed: boolean
  /** The type of permit that it states; default: that of EIP-2612, which it takes in any case. */
  readonly permitType?: string
}

/** Puts a token on a local node; the first account has a billion of it, and the spenders may take it. */
export const deployPermitToken = (
  client: AnvilClient,
  terms: PermitTokenTerms,
  spenders: readonly Address[],
): Promise<Address> => {
  const { name, domainName, version, isDescribed, permitType = PERMIT } = terms
  const typeHash = keccak256(stringToHex(permitType))
  const args = [name, domainName, version, isDescribed, typeHash, SUPPLY] as const
  return deploy(client, concatHex([CODE, encodeAbiParameters(TERMS, args)]), spenders)
}

/** The same for a token whose permits have DAI's form; its domain has its name and version 1. */
export const deployDaiToken = (
  client: AnvilClient,
  name: string,
  spenders: readonly Address[],
): Promise<Address> =>
  deploy(client, concatHex([DAI_CODE, encodeAbiParameters(DAI_TERMS, [name, SUPPLY])]), spenders)

const deploy = async (
  client: AnvilClient,
  data: Hex,
  spenders: readonly Address[],
): Promise<Address> => {
  const hash = await client.sendTransaction({ data })
  const { contractAddress } = await until(
    () => client.getTransactionReceipt({ hash }),
    'the receipt of the token',
  )
  if (!contractAddress) throw new Error('the token was not deployed')
  for (const spender of spenders) {
    const approval = await client.writeContract({
      address: contractAddress,
      abi: PERMIT_TOKEN_ABI,
      functionName: 'approve',
      args: [spender, 2n ** 255n],
      gas: 200_000n,
    })
    await until(() => client.getTransactionReceipt({ hash: approval }), 'the approval')
  }
  return contractAddress
}
