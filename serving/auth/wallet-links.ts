import { Fault } from '../../core/errors.ts'
import { MAX_WALLETS } from '../../schemas/plans.ts'
import type { WalletLink } from '../../schemas/wire.ts'
import { type AdministrationDeps, commitAudited } from './administration.ts'
import { type ContractSignatures, verifySignature } from './contract-signatures.ts'
import type { SignInClaim } from './siwx.ts'
import { isLinked, unlinkedRow, walletKey } from './wallet-link-rows.ts'

/** For whom a wallet is linked. */
export interface WalletOwner {
  readonly orgId: string
  readonly appId: string
}

/** Wallets that sign in for an application. A change is in force when its call returns, within a second everywhere. */
export interface WalletLinks {
  /**
   * Links the signer of a proof. A wallet of the same application stays as it is. Throws `Fault` INVALID_PARAMETER for a wrong
   * signature or an old proof, CONFLICT for a wallet of another organization, a proof of before its last change, or too
   * many wallets; that of `ContractSignatures` where the signature is undecided; `Outage`. What is old or used up is refused before a node
   * is asked for its signature.
   */
  link(owner: WalletOwner, proof: SignInClaim): Promise<WalletLink>
  /** Throws `Fault` NOT_FOUND where the application has no such wallet; `Outage`. */
  unlink(appId: string, key: string): Promise<void>
}

/** How old a proof may be: it says who owns the wallet now. */
const MAX_PROOF_AGE_MS = 600_000
/** Rows of wallets that are linked no more which one change forgets. */
const MAX_FORGOTTEN = 100

/**
 * Links over the control log. A proof counts once: a row remembers up to when proofs are used up, also behind the end of the link,
 * for as long as such a proof could be shown again.
 */
export const createWalletLinks = (
  deps: AdministrationDeps & {
    readonly maxLifetimeMs: number
    readonly contracts: ContractSignatures
  },
): WalletLinks => {
  const { registry, records, nowMs } = deps
  const forgotten = () =>
    registry
      .walletLinks()
      .filter((row) => !isLinked(row) && row.proofs_after + deps.maxLifetimeMs < nowMs())
      .slice(0, MAX_FORGOTTEN)
      .map(({ chain, address }) => records.gone('walletLinks', walletKey(chain, address)))
  return {
    link: async ({ orgId, appId }, proof) => {
      const { kind, address, issuedAtMs } = proof
      if (issuedAtMs < nowMs() - MAX_PROOF_AGE_MS) throw invalidProof('message', 'old_proof')
      const key = walletKey(kind, address)
      rejectUsedProof(registry.walletLink(key), issuedAtMs)
      const answer = await verifySignature(deps.contracts, proof, deps.by?.address ?? '')
      if (answer instanceof Fault) throw answer
      if (answer === 'wrong') throw invalidProof('signature', 'bad_signature')
      let linked: WalletLink | undefined
      const entry = { action: 'wallet.link', subject: key, orgId, detail: appId }
      await commitAudited(deps, entry, () => {
        const before = registry.walletLink(key)
        if (before?.app_id === appId) {
          linked = before
          return []
        }
        rejectUnlinkable(before, { orgId, issuedAtMs })
        if (registry.walletsOf(appId).length >= MAX_WALLETS) {
          throw new Fault('CONFLICT', `The application has ${MAX_WALLETS} wallets already`, {
            reason: 'too_many_wallets',
            max_allowed: MAX_WALLETS,
          })
        }
        linked = {
          chain: kind,
          address,
          org_id: orgId,
          app_id: appId,
          linked_at: nowMs(),
          proofs_after: issuedAtMs,
          version: (before?.version ?? 0) + 1,
        }
        return [...forgotten(), records.walletLink(linked)]
      })
      if (linked === undefined) throw new Fault('NOT_FOUND', 'No such wallet')
      return linked
    },
    unlink: async (appId, key) => {
      await commitAudited(deps, { action: 'wallet.unlink', subject: key }, () => {
        const row = registry.walletLink(key)
        if (row?.app_id !== appId) throw new Fault('NOT_FOUND', 'No such wallet')
        return [...forgotten(), records.walletLink(unlinkedRow(row, nowMs()))]
      })
    },
  }
}

const invalidProof = (parameter: string, reason: string): Fault =>
  new Fault('INVALID_PARAMETER', 'The proof of the wallet is not valid', { parameter, reason })

const usedProof = (): Fault =>
  new Fault(
    'CONFLICT',
    'The proof is older than the last change of the wallet: sign a new message',
    {
      reason: 'used_proof',
    },
  )

/** Of a wallet that is linked nothing is said to who has not proved it. */
const rejectUsedProof = (before: WalletLink | undefined, issuedAtMs: number): void => {
  if (before !== undefined && !isLinked(before) && issuedAtMs <= before.proofs_after)
    throw usedProof()
}

const rejectUnlinkable = (
  before: WalletLink | undefined,
  { orgId, issuedAtMs }: { readonly orgId: string; readonly issuedAtMs: number },
): void => {
  if (before === undefined) return
  if (isLinked(before) && before.org_id !== orgId) {
    throw new Fault('CONFLICT', 'The wallet is linked to another organization', {
      reason: 'linked_elsewhere',
    })
  }
  if (issuedAtMs <= before.proofs_after) throw usedProof()
}
