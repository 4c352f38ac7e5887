import { EVM_ZERO_ADDRESS } from '../../../schemas/burn-addresses.ts'
import type { LabelAction } from '../../../schemas/label-changes.ts'
import { arrayAt } from '../abi/dynamic.ts'
import { addressIn, wordAt } from '../abi/words.ts'
import { BAD_ADDRESS, BAD_ARRAY, type EvmEvent, type EvmFamily } from './types.ts'

/** Most addresses of one log. As many that are new take 90 million gas: each writes a slot that was empty (22,100, EIP-2929). */
const MAX_LISTED_ADDRESSES = 4_096n

const ADDRESS_LIMIT = 1n << 160n

const listEvent = (signature: string, action: LabelAction): EvmEvent => ({
  signature,
  by: 'listed',
  topics: 1,
  words: 2,
  read: ({ data }) => {
    const words = arrayAt(data, 0, { most: MAX_LISTED_ADDRESSES })
    if (words === undefined) return BAD_ARRAY
    if (words.some((word) => wordAt(data, word) >= ADDRESS_LIMIT)) return BAD_ADDRESS
    const addresses = words
      .map((word) => addressIn(data, word))
      .filter((address) => address !== EVM_ZERO_ADDRESS)
    return addresses.length === 0 ? undefined : { kind: 'addresses-labelled', action, addresses }
  },
})

/**
 * A contract that keeps the addresses on sanctions lists. What it logs when someone asks about an address (SanctionedAddress) changes
 * nothing and is not read. Source: the events of the Chainalysis sanctions oracle.
 */
export const sanctionsOracle: EvmFamily = {
  family: 'sanctions_oracle',
  events: {
    '0x2596d7dd6966c5673f9c06ddb0564c4f0e6d8d206ea075b83ad9ddd71a4fb927': listEvent(
      'SanctionedAddressesAdded(address[] addrs)',
      'added',
    ),
    '0x32aab684eee99db715515d1a9987a8fe33bb6341b0e35e60db7eab48a08f9a3a': listEvent(
      'SanctionedAddressesRemoved(address[] addrs)',
      'removed',
    ),
  },
}
