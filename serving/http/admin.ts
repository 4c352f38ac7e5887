import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../../core/config/settings.ts'
import { Fault } from '../../core/errors.ts'
import { AccountUsage } from '../../schemas/api/account.ts'
import {
  AdminPage,
  AdminSuccess,
  AppCreate,
  AppPage,
  AppPath,
  AppSecrets,
  AppUpdate,
  AppView,
  KeyCreate,
  KeyPath,
  KeyView,
  makeAdminPage,
  NewKeyView,
  NewSecret,
  OrgCreate,
  OrgPath,
  OrgUpdate,
  OrgView,
  RotateSecret,
  RotateSigningKey,
  SigningKeyView,
} from '../../schemas/api/admin.ts'
import type { Org } from '../../schemas/wire.ts'
import { requireRow } from '../auth/administration.ts'
import type { Organizations } from '../auth/organizations.ts'
import { assignKeySlots } from '../auth/signing-key-ring.ts'
import type { QuotaMeter } from '../billing/meter.ts'
import { type Cursors, createCursors } from '../queries/cursors-and-pages.ts'
import type { EndpointStore } from '../webhooks/endpoint-store.ts'
import { accountUsageBody } from './account.ts'
import {
  apiKeyBody,
  applicationBody,
  orgBody,
  paginateRows,
  parseExpiry,
  signingKeyBody,
} from './admin-bodies.ts'
import { type AdminGuardDeps, installAdminGuard } from './admin-guard.ts'
import { adminTokenRoutes } from './admin-tokens.ts'
import { type BaseDeps, createBaseApp } from './base-app.ts'
import { installOpenApiDocument } from './openapi.ts'

/** What the admin API works with. */
export interface AdminDeps extends BaseDeps {
  readonly organizations: Pick<
    Organizations,
    'adminAs' | 'adminTokens' | 'adminTokensAs' | 'registry'
  >
  readonly meter: QuotaMeter
  readonly endpoints: Pick<EndpointStore, 'removeOrg'>
  readonly config: BaseDeps['config'] & AdminGuardDeps['config'] & Pick<Config, 'keyPepper'>
}

type AdminRouteDeps = AdminDeps & { readonly cursors: Cursors }

/** Path of the admin API on its own port. */
export const ADMIN_PATH = '/admin/v1'

/**
 * The admin API: on a port of its own, opened by ADMIN_TOKEN and by tokens made with it. Listening is
 * the caller's.
 */
export const createAdminServer = async (deps: AdminDeps): Promise<FastifyInstance> => {
  const document = {
    title: 'Sluice administration',
    description: 'Organizations, applications and keys of this installation.',
    securitySchemes: {
      admin_auth: { type: 'http', scheme: 'bearer', description: 'ADMIN_TOKEN or an admin token' },
    },
  } as const
  const app = await createBaseApp(deps, document, { surface: 'admin' })
  installOpenApiDocument(app, deps)
  await app.register(async (guarded) => {
    installAdminGuard(guarded, deps)
    // A POST without a body asks for the defaults.
    guarded.addHook('preValidation', async (request) => {
      if (request.method === 'POST') request.body ??= {}
    })
    const cursors = createCursors(deps.config.keyPepper.reveal())
    for (const routes of [orgRoutes, appRoutes, keyRoutes, signingKeyRoutes]) {
      await guarded.register(routes({ ...deps, cursors }), { prefix: ADMIN_PATH })
    }
    await guarded.register(adminTokenRoutes({ ...deps.organizations, cursors })(routeSchema), {
      prefix: ADMIN_PATH,
    })
  })
  await app.ready()
  return app
}

const routeSchema = (summary: string) => ({
  summary,
  tags: ['admin'],
  security: [{ admin_auth: [] }],
})

const orgRoutes =
  ({
    organizations: { adminAs, registry },
    endpoints,
    cursors,
    meter,
    nowMs,
  }: AdminRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const one = (summary: string) => ({
      ...routeSchema(summary),
      params: OrgPath,
      response: { 200: OrgView },
    })
    const view = (org: Org) => orgBody(org, registry.newestOf(org.org_id))
    app.post(
      '/orgs',
      {
        schema: {
          ...routeSchema('Make an organization'),
          body: OrgCreate,
          response: { 200: OrgView },
        },
      },
      async ({ body, by }) => view(await adminAs(by).createOrg(body.name, body.plan ?? 'selfhost')),
    )
    app.get(
      '/orgs',
      {
        schema: {
          ...routeSchema('Organizations'),
          querystring: AdminPage,
          response: { 200: makeAdminPage(OrgView) },
        },
      },
      async ({ query }) =>
        paginateRows(registry.orgs(), query, {
          idOf: ({ org_id }) => org_id,
          view,
          cursors,
          list: ['organizations'],
        }),
    )
    app.get('/orgs/:orgId', { schema: one('One organization') }, async ({ params }) =>
      view(requireRow(registry.org(params.orgId), 'organization')),
    )
    app.get(
      '/orgs/:orgId/usage',
      {
        schema: {
          ...routeSchema('Usage of this month by route and day'),
          params: OrgPath,
          response: { 200: AccountUsage },
        },
      },
      async ({ params }) => {
        const org = requireRow(registry.org(params.orgId), 'organization')
        const { plan = 'free', countsFrom } = registry.planOf(org, nowMs()) ?? {}
        const owner = { orgId: org.org_id, plan, ...(countsFrom && { countsFrom }) }
        return accountUsageBody(meter, owner, nowMs())
      },
    )
    app.patch(
      '/orgs/:orgId',
      { schema: { ...one('Change name, plan or suspension'), body: OrgUpdate } },
      async ({ params, body, by }) => view(await adminAs(by).updateOrg(params.orgId, body)),
    )
    app.delete(
      '/orgs/:orgId',
      {
        schema: {
          ...routeSchema('Delete an organization with its applications and webhooks'),
          params: OrgPath,
          response: { 200: AdminSuccess },
        },
      },
      async ({ params, by }) => {
        // Its credentials first, so that no other one can be made; between the two nothing is sent any more.
        await adminAs(by).deleteOrg(params.orgId)
        await endpoints.removeOrg(params.orgId)
        return SUCCESS
      },
    )
  }

const appRoutes =
  (deps: AdminRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { adminAs, registry } = deps.organizations
    const one = (summary: string) => ({
      ...routeSchema(summary),
      params: AppPath,
      response: { 200: AppView },
    })
    app.post(
      '/apps',
      {
        schema: {
          ...routeSchema('Make an application with its first key'),
          body: AppCreate,
          response: { 200: AppSecrets },
        },
      },
      async ({ body, by }) => {
        rejectOrgConflict(body)
        return adminAs(by).createApplication({ plan: 'selfhost', ...body })
      },
    )
    app.get(
      '/apps',
      {
        schema: {
          ...routeSchema('Applications'),
          querystring: AppPage,
          response: { 200: makeAdminPage(AppView) },
        },
      },
      async ({ query }) => {
        const all = registry.applications()
        const rows = all.filter(({ org_id }) => query.orgId === undefined || org_id === query.orgId)
        return paginateRows(rows, query, {
          idOf: ({ app_id }) => app_id,
          view: applicationBody,
          cursors: deps.cursors,
          list: ['applications', query.orgId ?? ''],
        })
      },
    )
    app.get('/apps/:appId', { schema: one('One application') }, async ({ params }) =>
      applicationBody(requireRow(registry.application(params.appId), 'application')),
    )
    app.patch(
      '/apps/:appId',
      { schema: { ...one('Change name, scopes or use'), body: AppUpdate } },
      async ({ params, body, by }) =>
        applicationBody(await adminAs(by).updateApplication(params.appId, body)),
    )
    const ending = (summary: string) => ({
      schema: { ...routeSchema(summary), params: AppPath, response: { 200: AdminSuccess } },
    })
    app.delete(
      '/apps/:appId',
      ending('Delete an application: its credentials are dead at once'),
      async ({ params, by }) => {
        await adminAs(by).deleteApplication(params.appId)
        return SUCCESS
      },
    )
    app.post(
      '/apps/:appId/tokens/revoke',
      ending('End every access token issued so far'),
      async ({ params, by }) => {
        await adminAs(by).revokeTokens(params.appId)
        return SUCCESS
      },
    )
  }

const keyRoutes =
  ({
    organizations: { adminAs, registry },
    nowMs,
    cursors,
    meter,
  }: AdminRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/apps/:appId/secret/rotate',
      {
        schema: {
          ...routeSchema('A new client secret'),
          params: AppPath,
          body: RotateSecret,
          response: { 200: NewSecret },
        },
      },
      async ({ params, body, by }) => ({
        clientSecret: await adminAs(by).rotateSecret(params.appId, body.overlapSeconds ?? 86_400),
      }),
    )
    app.post(
      '/apps/:appId/keys',
      {
        schema: {
          ...routeSchema('A new API key'),
          params: AppPath,
          body: KeyCreate,
          response: { 200: NewKeyView },
        },
      },
      async ({ params, body, by }) => {
        const { name, scopes, expiresAt } = body
        return adminAs(by).createKey(params.appId, {
          ...(name !== undefined && { name }),
          ...(scopes && { scopes }),
          ...(expiresAt !== undefined && { expiresAtMs: parseExpiry(expiresAt, nowMs()) }),
        })
      },
    )
    app.get(
      '/apps/:appId/keys',
      {
        schema: {
          ...routeSchema('Keys of an application'),
          params: AppPath,
          querystring: AdminPage,
          response: { 200: makeAdminPage(KeyView) },
        },
      },
      async ({ params, query }) => {
        requireRow(registry.application(params.appId), 'application')
        const rows = registry.keysOf(params.appId)
        return paginateRows(rows, query, {
          idOf: ({ key_id }) => key_id,
          view: (row) => apiKeyBody(row, meter.keyLastUsedAtMs(row.key_id)),
          cursors,
          list: ['keys', params.appId],
        })
      },
    )
    app.delete(
      '/apps/:appId/keys/:keyId',
      {
        schema: {
          ...routeSchema('Revoke a key'),
          params: KeyPath,
          response: { 200: AdminSuccess },
        },
      },
      async ({ params, by }) => {
        await adminAs(by).revokeKey(params.keyId, params.appId)
        return SUCCESS
      },
    )
  }

const signingKeyRoutes =
  ({ organizations: { adminAs, registry }, nowMs }: AdminDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/signing-keys',
      {
        schema: {
          ...routeSchema('Keys that sign access tokens'),
          response: { 200: makeAdminPage(SigningKeyView) },
        },
      },
      async () => {
        const items = assignKeySlots(registry.signingKeys(), nowMs()).map(signingKeyBody)
        return { data: items, items, nextCursor: '', hasMore: false }
      },
    )
    app.post(
      '/signing-keys/rotate',
      {
        schema: {
          ...routeSchema('A new signing key; tokens that were issued stay good'),
          body: RotateSigningKey,
          response: { 200: SigningKeyView },
        },
      },
      async ({ body, by }) => {
        const key = await adminAs(by).rotateSigningKey(body.leadSeconds)
        return signingKeyBody({ key, slot: 'next' })
      },
    )
  }

const SUCCESS = { success: true } as const

const rejectOrgConflict = (body: {
  readonly orgId?: string
  readonly newOrg?: string
  readonly plan?: string
}): void => {
  if (body.orgId === undefined) return
  const other = body.newOrg === undefined ? body.plan && 'plan' : 'newOrg'
  if (other) {
    throw new Fault(
      'INVALID_PARAMETER',
      `${other} is for a new organization: leave it out where orgId is given`,
      {
        parameter: other,
      },
    )
  }
}
