import type { PermitWords, TokenPermitWords } from '../../schemas/api/swap.ts'
import {
  expiredPermit,
  requireChain,
  requireSame,
  requireSigner,
  unfittingPermit,
} from './permit-faults.ts'
import { readTokenPermitCall } from './permit-forms.ts'
import {
  MAX_PERMIT_AMOUNT,
  normalSignature,
  type PermitDomain,
  type PermitSingle,
  permitSigner,
  readPermitCall,
} from './permit2.ts'
import type { SwapQuote } from './quote.ts'
import { readTokenPermitWords, type SignedTokenPermit } from './signed-token-permit.ts'

/** A permit of Permit2 as a request has it; nothing of it is checked yet. */
export interface SignedPermit {
  readonly kind: 'permit2'
  readonly permit: PermitSingle
  readonly signature: `0x${string}`
  /** What the request says of it, where it does. */
  readonly chainId?: number
  readonly permit2?: string
  readonly owner?: string
}

/** What a permit must fit. */
export interface PermitTerms extends PermitDomain {
  readonly owner: string
  readonly token: string
  readonly spender: string
  readonly nowSeconds: number
}

/**
 * Reads `permit` as the signature of the typed data in `permitData`, or without that as a call of `permit` of Permit2 or of a token. Throws
 * `Fault` INVALID_PARAMETER for what is neither, and for typed data without a signature.
 */
export const readSignedPermit = (
  text: string | undefined,
  words: PermitWords | TokenPermitWords | undefined,
): SignedPermit | SignedTokenPermit | undefined => {
  if (text === undefined) {
    if (words === undefined) return undefined
    throw unfittingPermit('signature_missing')
  }
  const hex: `0x${string}` = `0x${text.replace(/^0x/, '')}`
  if (!/^0x(?:[0-9a-fA-F]{2})+$/.test(hex)) throw unfittingPermit('encoding')
  if (words === undefined) return readCall(hex)
  const signature = normalSignature(hex)
  if (signature === undefined) throw unfittingPermit('not_a_signature')
  const read = words.primaryType === 'Permit' ? readTokenPermitWords(words) : readWords(words)
  return { ...read, signature }
}

const readCall = (hex: `0x${string}`): SignedPermit | SignedTokenPermit => {
  const ofToken = readTokenPermitCall(hex)
  if (ofToken) return { kind: 'token', ...ofToken }
  const call = readPermitCall(hex)
  const signature = call && normalSignature(call.signature)
  if (call === undefined || signature === undefined) throw unfittingPermit('not_a_permit')
  return { kind: 'permit2', ...call, signature }
}

const readWords = ({ domain, message }: PermitWords): Omit<SignedPermit, 'signature'> => {
  const { details, spender, sigDeadline } = message
  const amountRaw = BigInt(details.amount)
  if (amountRaw > MAX_PERMIT_AMOUNT) throw unfittingPermit('amount')
  return {
    kind: 'permit2',
    chainId: domain.chainId,
    permit2: domain.verifyingContract.toLowerCase(),
    permit: {
      token: details.token.toLowerCase(),
      amountRaw,
      spender: spender.toLowerCase(),
      expiration: details.expiration,
      nonce: details.nonce,
      sigDeadline: BigInt(sigDeadline),
    },
  }
}

/**
 * Checks everything of a permit that needs no node. Throws `Fault` INVALID_PARAMETER with a reason for one of another chain, contract,
 * token, spender or owner, INVALID_TIMESTAMP for one that is over, TRANSACTION_SIGNATURE_MISSING for one that the owner did not sign.
 */
export const requireFittingPermit = async (
  { permit, signature, ...said }: SignedPermit,
  terms: PermitTerms,
): Promise<void> => {
  const { chainId, permit2, owner, token, spender, nowSeconds } = terms
  requireChain(said.chainId, chainId)
  requireSame([
    ['other_contract', said.permit2 ?? permit2, permit2],
    ['other_owner', said.owner ?? owner, owner],
    ['other_token', permit.token, token],
    ['other_spender', permit.spender, spender],
  ])
  if (permit.sigDeadline <= BigInt(nowSeconds)) throw expiredPermit('sig_deadline')
  if (permit.expiration <= nowSeconds) throw expiredPermit('expiration')
  requireSigner(await permitSigner(terms, permit, signature), owner)
}

/**
 * The quote with an input that the permit allows: what an ExactOut swap may cost at most is lowered to it. Throws `Fault` INVALID_PARAMETER
 * where it allows less than what is sold.
 */
export const withinPermit = (
  quote: SwapQuote,
  { permit }: SignedPermit | SignedTokenPermit,
): SwapQuote => {
  const { amountRaw } = permit
  if (amountRaw >= quote.maxInRaw) return quote
  const needed = quote.route.amountInRaw
  if (amountRaw < needed) {
    throw unfittingPermit('amount', { value: amountRaw.toString(), expected: needed.toString() })
  }
  return { ...quote, maxInRaw: amountRaw }
}

/** Throws `Fault` INVALID_PARAMETER for a permit that was used before, or is not the next one. */
export const requireNonce = ({ permit }: SignedPermit, expected: number): void => {
  if (permit.nonce !== expected) throw unfittingPermit('nonce', { value: permit.nonce, expected })
}
