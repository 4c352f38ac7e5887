import { Fault } from '../../core/errors.ts'

/** A `Fault` INVALID_PARAMETER for a permit that cannot be used for the swap. */
export const unfittingPermit = (reason: string, details: object = {}): Fault =>
  new Fault('INVALID_PARAMETER', 'The permit does not match the swap', {
    parameter: 'permit',
    reason,
    ...details,
  })

/** A `Fault` INVALID_TIMESTAMP for a permit one of whose times is over. */
export const expiredPermit = (reason: string): Fault =>
  new Fault('INVALID_TIMESTAMP', 'The permit has expired', { parameter: 'permit', reason })

/** Throws `Fault` INVALID_PARAMETER for a permit of another chain. */
export const requireChain = (found: number | undefined, expected: number): void => {
  if (found === undefined || found === expected) return
  throw unfittingPermit('other_chain', { chain_id: found, expected })
}

/** A reason, what the permit has, what it must have. */
type Pair = readonly [reason: string, found: string, expected: string]

/** Throws `Fault` INVALID_PARAMETER with the reason of the first pair that differs. */
export const requireSame = (pairs: readonly Pair[]): void => {
  for (const [reason, found, expected] of pairs) {
    if (found !== expected) throw unfittingPermit(reason, { value: found, expected })
  }
}

/** Throws `Fault` TRANSACTION_SIGNATURE_MISSING for a permit that its owner did not sign. */
export const requireSigner = (signer: string | undefined, owner: string): void => {
  if (signer === owner) return
  throw new Fault('TRANSACTION_SIGNATURE_MISSING', 'The permit is not signed by userAddress', {
    parameter: 'permit',
    signer: signer ?? null,
    expected: owner,
  })
}
