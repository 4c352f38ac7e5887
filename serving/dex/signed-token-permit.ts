import type { TokenPermitWords } from '../../schemas/api/swap.ts'
import {
  expiredPermit,
  requireChain,
  requireSame,
  requireSigner,
  unfittingPermit,
} from './permit-faults.ts'
import type { RouterVenue } from './router-venues.ts'
import { type TokenPermit, type TokenPermitState, tokenPermitSigner } from './token-permit.ts'

/** A permit of a token as a request has it; nothing of it is checked yet. */
export interface SignedTokenPermit {
  readonly kind: 'token'
  readonly permit: TokenPermit
  readonly signature: `0x${string}`
  /** What the request says of it, where it does. */
  readonly domain?: TokenPermitWords['domain']
  readonly nonceRaw?: bigint
}

/** What a permit must fit. */
export interface TokenPermitTerms {
  readonly chainId: number
  readonly owner: string
  readonly token: string
  readonly spender: string
  readonly nowSeconds: number
}

const MAX_AMOUNT = (1n << 256n) - 1n

/** Throws `Fault` INVALID_PARAMETER for an amount that tokens do not count. */
export const readTokenPermitWords = ({
  domain,
  message,
}: TokenPermitWords): Omit<SignedTokenPermit, 'signature'> => {
  const { owner, spender, value, nonce, deadline } = message
  const amountRaw = BigInt(value)
  if (amountRaw > MAX_AMOUNT) throw unfittingPermit('amount')
  return {
    kind: 'token',
    domain,
    nonceRaw: BigInt(nonce),
    permit: {
      owner: owner.toLowerCase(),
      spender: spender.toLowerCase(),
      amountRaw,
      deadline: BigInt(deadline),
    },
  }
}

/** The routers that take permits of tokens; of several, the one that the permit is for. */
export const permittedRouters = (
  routers: readonly RouterVenue[],
  { permit }: SignedTokenPermit,
): readonly RouterVenue[] => {
  const able = routers.filter(({ kind }) => kind === 'v3')
  const named = able.filter(({ router }) => router === permit.spender)
  return named.length > 0 ? named : able
}

/**
 * Checks everything of a permit that needs no node. Throws `Fault` INVALID_PARAMETER with a reason for one of another chain, token, owner or
 * spender, INVALID_TIMESTAMP for one that is over.
 */
export const requireFittingTokenPermit = (
  { permit, domain }: SignedTokenPermit,
  { chainId, owner, token, spender, nowSeconds }: TokenPermitTerms,
): void => {
  requireChain(domain?.chainId, chainId)
  requireSame([
    ['other_token', domain?.verifyingContract.toLowerCase() ?? token, token],
    ['other_owner', permit.owner, owner],
    ['other_spender', permit.spender, spender],
  ])
  if (permit.deadline <= BigInt(nowSeconds)) throw expiredPermit('deadline')
}

/**
 * Checks a permit against what the token says. Throws `Fault` INVALID_PARAMETER where the token does not take permits, has another name or
 * version, or expects another nonce; TRANSACTION_SIGNATURE_MISSING where the owner did not sign it.
 */
export const requireTakenPermit = async (
  { permit, signature, domain, nonceRaw }: SignedTokenPermit,
  state: TokenPermitState | undefined,
): Promise<void> => {
  if (state === undefined) throw unfittingPermit('token_without_permit')
  const { name = '', version = '' } = state.domain
  requireSame([
    ['other_domain', domain?.name ?? name, name],
    ['other_domain', domain?.version ?? version, version],
    ['nonce', `${nonceRaw ?? state.nonceRaw}`, `${state.nonceRaw}`],
  ])
  requireSigner(await tokenPermitSigner(state, permit, signature), permit.owner)
}
