import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Fault } from '../../core/errors.ts'
import {
  AccountPage,
  LinkAddress,
  LinkedWallet,
  makeAccountPage,
  NewOwnKey,
  OwnKey,
  OwnKeyCreate,
  OwnKeyPath,
  WalletPath,
} from '../../schemas/api/account.ts'
import { Success } from '../../schemas/api/common.ts'
import { MAX_OWN_KEYS } from '../../schemas/plans.ts'
import { SCOPES } from '../../schemas/scopes.ts'
import type { ApiKey, WalletLink } from '../../schemas/wire.ts'
import type { Actor } from '../auth/control-records.ts'
import type { OrganizationRegistry } from '../auth/organization-registry.ts'
import type { Organizations } from '../auth/organizations.ts'
import { normalizeWalletAddress } from '../auth/siwx-message.ts'
import { walletKey } from '../auth/wallet-link-rows.ts'
import type { QuotaMeter } from '../billing/meter.ts'
import type { Principal } from '../interfaces.ts'
import type { Cursors } from '../queries/cursors-and-pages.ts'
import { requirePrincipal } from './account.ts'
import { apiKeyBody, paginateRows, parseExpiry } from './admin-bodies.ts'
import { pricedRoute } from './routing.ts'

/** Dependencies of the routes of an organization's own credentials. */
export interface AccountCredentialDeps {
  readonly organizations: Pick<Organizations, 'adminAs' | 'walletsAs' | 'readProof' | 'registry'>
  readonly cursors: Cursors
  readonly nowMs: () => number
  readonly meter: Pick<QuotaMeter, 'keyLastUsedAtMs'>
}

/**
 * A credential with every scope owns the organization: no other one creates, lists or revokes credentials, so that a key which was restricted
 * cannot make one that is not.
 */
const OWNER_SCOPES = SCOPES

const about = (summary: string) => ({
  summary,
  description: 'Needs a credential with every scope.',
  tags: ['account'],
})

const SUCCESS = { success: true }

const toActor = (principal: Principal, { caller, id }: FastifyRequest): Actor => ({
  actor: principal.credentialId,
  address: caller,
  requestId: id,
})

const ownKeyBody = (row: ApiKey, meter: AccountCredentialDeps['meter']): OwnKey => {
  const { appId: _, ...body } = apiKeyBody(row, meter.keyLastUsedAtMs(row.key_id))
  return body
}

const walletBody = ({ chain, address, linked_at }: WalletLink): LinkedWallet => ({
  chain: chain as LinkedWallet['chain'],
  address,
  linkedAt: new Date(linked_at).toISOString(),
})

/** Keys and wallets of the caller's application. */
export const accountCredentialRoutes =
  (deps: AccountCredentialDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(ownKeyRoutes(deps))
    await app.register(walletRoutes(deps))
  }

const ownKeyRoutes =
  ({ organizations, cursors, nowMs, meter }: AccountCredentialDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { adminAs, registry } = organizations
    app.post(
      '/account/keys',
      {
        schema: { ...about('A new API key'), body: OwnKeyCreate, response: { 200: NewOwnKey } },
        config: pricedRoute('POST /account/keys', OWNER_SCOPES),
      },
      async (request) => {
        const principal = requirePrincipal(request.principal)
        const { name = '', scopes = SCOPES, expiresAt } = request.body
        const expiresAtMs = parseOwnExpiry(expiresAt, keyEndMs(registry, principal), nowMs())
        const { keyId, apiKey } = await adminAs(
          toActor(principal, request),
          principal.orgId,
        ).createKey(principal.appId, {
          name,
          scopes,
          ...(expiresAtMs !== undefined && { expiresAtMs }),
          maxKeys: MAX_OWN_KEYS,
        })
        const row = registry.key(keyId)
        if (row === undefined) throw new Fault('NOT_FOUND', 'No such key')
        return { ...ownKeyBody(row, meter), apiKey }
      },
    )
    app.get(
      '/account/keys',
      {
        schema: {
          ...about('API keys, without their text'),
          querystring: AccountPage,
          response: { 200: makeAccountPage(OwnKey) },
        },
        config: pricedRoute('GET /account/keys', OWNER_SCOPES),
      },
      async ({ principal, query }) => {
        const { appId } = requirePrincipal(principal)
        return paginateRows(registry.keysOf(appId), query, {
          idOf: ({ key_id }) => key_id,
          view: (row) => ownKeyBody(row, meter),
          cursors,
          list: ['own keys', appId],
        })
      },
    )
    app.delete(
      '/account/keys/:keyId',
      {
        schema: {
          ...about('Revoke an API key: it is dead at once'),
          params: OwnKeyPath,
          response: { 200: Success },
        },
        config: pricedRoute('DELETE /account/keys/:keyId', OWNER_SCOPES),
      },
      async (request) => {
        const principal = requirePrincipal(request.principal)
        const { keyId } = request.params
        await adminAs(toActor(principal, request), principal.orgId).revokeKey(
          keyId,
          principal.appId,
        )
        return SUCCESS
      },
    )
  }

/**
 * When the key of a caller ends, epoch milliseconds; null: never, or the caller came with the secret of an application or a wallet, which do
 * not end. A bought plan that ends is not an end of the key. Throws `Fault` UNAUTHORIZED for a key that is gone meanwhile.
 */
const keyEndMs = (
  registry: Pick<OrganizationRegistry, 'key'>,
  { kind, credentialId }: Principal,
): number | null => {
  if (kind !== 'api-key') return null
  const row = registry.key(credentialId)
  if (row === undefined)
    throw new Fault('UNAUTHORIZED', 'The credential is not valid', { reason: 'invalid_api_key' })
  return row.expires_at === 0 ? null : row.expires_at
}

/** A key that ends makes no key that ends later. `lastMs`: when it ends. */
const parseOwnExpiry = (
  expiresAt: number | undefined,
  lastMs: number | null,
  nowMs: number,
): number | undefined => {
  const wanted = expiresAt === undefined ? undefined : parseExpiry(expiresAt, nowMs)
  if (lastMs === null || (wanted !== undefined && wanted <= lastMs)) return wanted
  throw new Fault('INVALID_PARAMETER', 'A key may not expire after the key that creates it', {
    parameter: 'expiresAt',
    value: wanted ?? null,
    maximum: lastMs,
  })
}

const walletRoutes =
  ({ organizations, cursors }: AccountCredentialDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { walletsAs, registry } = organizations
    app.get(
      '/account/wallets',
      {
        schema: {
          ...about('Wallets that sign in'),
          querystring: AccountPage,
          response: { 200: makeAccountPage(LinkedWallet) },
        },
        config: pricedRoute('GET /account/wallets', OWNER_SCOPES),
      },
      async ({ principal, query }) => {
        const { appId } = requirePrincipal(principal)
        return paginateRows(registry.walletsOf(appId), query, {
          idOf: ({ chain, address }) => walletKey(chain, address),
          view: walletBody,
          cursors,
          list: ['wallets', appId],
        })
      },
    )
    app.delete(
      '/account/wallets/:wallet/:address',
      {
        schema: {
          ...about('End the sign-in of a wallet at once'),
          params: WalletPath,
          response: { 200: Success },
        },
        config: pricedRoute('DELETE /account/wallets/:wallet/:address', OWNER_SCOPES),
      },
      async (request) => {
        const principal = requirePrincipal(request.principal)
        const { wallet, address } = request.params
        const normal = normalizeWalletAddress(wallet, address)
        if (normal === undefined) throw invalidAddress(address)
        await walletsAs(toActor(principal, request), principal.orgId).unlink(
          principal.appId,
          walletKey(wallet, normal),
        )
        return SUCCESS
      },
    )
  }

const invalidAddress = (value: string): Fault =>
  new Fault('INVALID_ADDRESS', undefined, { parameter: 'address', value })

/** A wallet signs in without an end, and makes keys without one: a key that ends would outlast itself with it. */
const rejectEndingKey = (lastMs: number | null): void => {
  if (lastMs === null) return
  throw new Fault('FORBIDDEN', 'A key that ends may not link a wallet, which has no end', {
    reason: 'ending_key',
    expiresAt: new Date(lastMs).toISOString(),
  })
}

/** The route by which a wallet is linked; it has no version. */
export const linkAddressRoute =
  ({ organizations }: AccountCredentialDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/x402/link-address',
      {
        schema: {
          ...about('Let a wallet sign in for the application'),
          description: 'Needs a credential with every scope; of API keys one that does not end.',
          body: LinkAddress,
          response: { 200: LinkedWallet },
        },
        config: pricedRoute('POST /x402/link-address', OWNER_SCOPES),
      },
      async (request) => {
        const principal = requirePrincipal(request.principal)
        rejectEndingKey(keyEndMs(organizations.registry, principal))
        const { chain, address, message, signature } = request.body
        const normal = normalizeWalletAddress(chain, address)
        if (normal === undefined) throw invalidAddress(address)
        const proof = organizations.readProof({ message, signature })
        const problem = typeof proof === 'string' ? proof : undefined
        if (typeof proof === 'string' || proof.kind !== chain || proof.address !== normal) {
          throw new Fault('INVALID_PARAMETER', 'The message does not prove the wallet', {
            parameter: 'message',
            reason: problem ?? 'wrong_address',
          })
        }
        const { orgId, appId } = principal
        return walletBody(
          await organizations
            .walletsAs(toActor(principal, request), principal.orgId)
            .link({ orgId, appId }, proof),
        )
      },
    )
  }
