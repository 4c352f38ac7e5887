import type { TokenPermitWords } from '../../schemas/api/swap.ts'
import {
  expiredPermit,
  requireChain,
  requireSame,
  requireSigner,
  unfittingPermit,
} from './permit-faults.ts'
import { daiAmount, MAX_TOKEN_AMOUNT, type TokenPermit } from './permit-forms.ts'
import type { RouterVenue } from './router-venues.ts'
import { type TokenPermitState, tokenPermitSigner } from './token-permit.ts'

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

/** Throws `Fault` INVALID_PARAMETER for an amount that tokens do not count, and for words of both forms. */
export const readTokenPermitWords = ({
  domain,
  message,
}: TokenPermitWords): Omit<SignedTokenPermit, 'signature'> => {
  // Of words of both forms only those of one were validated.
  if ('holder' in message && 'owner' in message) throw unfittingPermit('form')
  const permit = 'holder' in message ? readDaiMessage(message) : readMessage(message)
  return { kind: 'token', domain, nonceRaw: BigInt(message.nonce), permit }
}

type DaiMessage = Extract<TokenPermitWords['message'], { readonly holder: string }>

const readMessage = ({
  owner,
  spender,
  value,
  deadline,
}: Exclude<TokenPermitWords['message'], DaiMessage>): TokenPermit => {
  const amountRaw = BigInt(value)
  if (amountRaw > MAX_TOKEN_AMOUNT) throw unfittingPermit('amount')
  const addresses = { owner: owner.toLowerCase(), spender: spender.toLowerCase() }
  return { form: 'eip2612', ...addresses, amountRaw, deadline: BigInt(deadline) }
}

const readDaiMessage = ({ holder, spender, expiry, allowed }: DaiMessage): TokenPermit => {
  const addresses = { owner: holder.toLowerCase(), spender: spender.toLowerCase() }
  return { form: 'dai', ...addresses, amountRaw: daiAmount(allowed), deadline: BigInt(expiry) }
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
 * spender, and for one that allows nothing or has no end; INVALID_TIMESTAMP for one that is over.
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
  const isDai = permit.form === 'dai'
  if (isDai && permit.amountRaw === 0n) throw unfittingPermit('allowed')
  // To the token it is endless, and to whoever reads it as a time it is over.
  if (isDai && permit.deadline === 0n) throw unfittingPermit('without_expiry')
  if (permit.deadline <= BigInt(nowSeconds)) throw expiredPermit(isDai ? 'expiry' : 'deadline')
}

/**
 * Checks a permit against what the token says, and gives that. Throws `Fault` INVALID_PARAMETER where the token does not take permits, takes another form, has
 * another name or version, or expects another nonce; TRANSACTION_SIGNATURE_MISSING where the owner did not sign it.
 */
export const requireTakenPermit = async (
  { permit, signature, domain, nonceRaw }: SignedTokenPermit,
  state: TokenPermitState | undefined,
): Promise<TokenPermitState> => {
  if (state === undefined) throw unfittingPermit('token_without_permit')
  const { name = '', version = '' } = state.domain
  requireSame([
    ['other_form', permit.form, state.form],
    ['other_domain', domain?.name ?? name, name],
    ['other_domain', domain?.version ?? version, version],
    ['nonce', `${nonceRaw ?? state.nonceRaw}`, `${state.nonceRaw}`],
  ])
  requireSigner(await tokenPermitSigner(state, permit, signature), permit.owner)
  return state
}
