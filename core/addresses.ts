import { chainRow, type Vm } from '../schemas/chains.ts'
import { normalizeCoinType, normalizeMoveAddress } from './move-type.ts'

const ADDRESS_PATTERNS: Readonly<Record<Vm, RegExp>> = {
  evm: /^0x[0-9a-fA-F]{40}$/,
  svm: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/,
  move: /^0x[0-9a-fA-F]{1,64}(::\w{1,128}){0,2}$/,
}

/** Virtual machines, in this order, whose addresses look like those of no other; on Move an address may be as short as any other. */
const DISTINCT_VMS: readonly Vm[] = ['evm', 'svm']

/** Chains without a row of their own are EVM chains. */
const chainVm = (chainId: string): Vm => chainRow(chainId)?.vm ?? 'evm'

/** One writing for each address: EVM lower case, coins short and other Move addresses with all their digits. */
const toStoredAddress = (vm: Vm, text: string): string => {
  if (vm === 'move') return normalizeCoinType(text) ?? normalizeMoveAddress(text) ?? text
  return vm === 'evm' ? text.toLowerCase() : text
}

/** An address of a token or wallet as tables and records hold it; undefined when the text is none of the chain. */
export const storedAddress = (chainId: string, text: string): string | undefined =>
  storedAddressOn(chainVm(chainId), text)

const storedAddressOn = (vm: Vm, text: string): string | undefined =>
  ADDRESS_PATTERNS[vm].test(text) ? toStoredAddress(vm, text) : undefined

/** An address whose form alone tells its virtual machine, as tables hold it; undefined for all other texts, those of Move chains among them. */
export const distinctAddress = (
  text: string,
): { readonly vm: Vm; readonly address: string } | undefined => {
  for (const vm of DISTINCT_VMS) {
    const address = storedAddressOn(vm, text)
    if (address !== undefined) return { vm, address }
  }
  return undefined
}
