import { Fault } from '../../core/errors.ts'
import { rateLimitAddress } from '../../core/http/network-address.ts'
import { MAX_OPEN_PAYMENTS } from './contract.ts'

/** Payments that are verified at once: of one address (IPv6: its /64), and in the process. Their payers may have no money. */
const MAX_VERIFYING_PER_ADDRESS = 16
const MAX_VERIFYING = 512

/** What one payment takes of the process. */
export interface PaymentPlace {
  /** The payment is verified, and takes one of the places of open payments. False: there is none. */
  open(): boolean
  /** The payment is over. */
  leave(): void
}

/** Bounds payments under way: those being verified per address, so that payments without money keep out none with money. */
export interface PaymentPlaces {
  /** Throws `Fault` SERVER_BUSY where the process has no place left, CONCURRENCY_LIMIT where the address has none. */
  check(address: string): void
  /** Takes a place for verification. */
  take(address: string): PaymentPlace
}

/** No payment is under way. */
export const createPaymentPlaces = (): PaymentPlaces => {
  const verifying = new Map<string, number>()
  const counts = { verifying: 0, open: 0 }
  const change = (bucket: string, by: 1 | -1): void => {
    counts.verifying += by
    const ofAddress = (verifying.get(bucket) ?? 0) + by
    if (ofAddress === 0) verifying.delete(bucket)
    else verifying.set(bucket, ofAddress)
  }
  return {
    check: (address) => {
      if (counts.open >= MAX_OPEN_PAYMENTS || counts.verifying >= MAX_VERIFYING)
        throw new Fault('SERVER_BUSY')
      if ((verifying.get(rateLimitAddress(address)) ?? 0) >= MAX_VERIFYING_PER_ADDRESS)
        throw new Fault('CONCURRENCY_LIMIT', 'Too many payments of the address are being verified')
    },
    take: (address) => {
      const bucket = rateLimitAddress(address)
      let state: 'verifying' | 'open' | 'over' = 'verifying'
      change(bucket, 1)
      return {
        open: () => {
          if (state !== 'verifying' || counts.open >= MAX_OPEN_PAYMENTS) return false
          change(bucket, -1)
          counts.open += 1
          state = 'open'
          return true
        },
        leave: () => {
          if (state === 'verifying') change(bucket, -1)
          if (state === 'open') counts.open -= 1
          state = 'over'
        },
      }
    },
  }
}
