import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { toIsoTime } from '../../core/time.ts'
import {
  AdminPage,
  AdminSuccess,
  AdminTokenCreate,
  AdminTokenPath,
  AdminTokenView,
  makeAdminPage,
  NewAdminTokenView,
} from '../../schemas/api/admin.ts'
import type { AdminToken } from '../../schemas/wire.ts'
import type { Organizations } from '../auth/organizations.ts'
import type { Cursors } from '../queries/cursors-and-pages.ts'
import { paginateRows } from './admin-bodies.ts'

const DEFAULT_LIFETIME_SECONDS = 2_592_000

const adminTokenBody = ({
  token_id,
  name,
  role,
  expires_at,
  created_at,
}: AdminToken): AdminTokenView => ({
  tokenId: token_id,
  name,
  role,
  expiresAt: toIsoTime(expires_at),
  createdAt: toIsoTime(created_at),
})

/** What the routes of admin tokens work with. */
export interface AdminTokenDeps extends Pick<Organizations, 'adminTokensAs' | 'adminTokens'> {
  readonly cursors: Cursors
}

/** Tokens of the admin API itself: the holder of ADMIN_TOKEN makes and ends them, everybody let in may list them. */
export const adminTokenRoutes =
  ({ adminTokensAs, adminTokens, cursors }: AdminTokenDeps) =>
  (about: (summary: string) => object): FastifyPluginAsyncTypebox =>
  async (app) => {
    const config = { role: 'owner' } as const
    app.post(
      '/tokens',
      {
        schema: {
          ...about('A new admin token, by ADMIN_TOKEN alone'),
          body: AdminTokenCreate,
          response: { 200: NewAdminTokenView },
        },
        config,
      },
      async ({ body: { name, role, expiresInSeconds = DEFAULT_LIFETIME_SECONDS }, by }) => {
        const request = { name, role, lifeSeconds: expiresInSeconds }
        const { row, token } = await adminTokensAs(by).create(request)
        return { ...adminTokenBody(row), token }
      },
    )
    app.get(
      '/tokens',
      {
        schema: {
          ...about('Admin tokens, without their text'),
          querystring: AdminPage,
          response: { 200: makeAdminPage(AdminTokenView) },
        },
      },
      async ({ query }) =>
        paginateRows(adminTokens.list(), query, {
          idOf: ({ token_id }) => token_id,
          view: adminTokenBody,
          cursors,
          list: ['tokens'],
        }),
    )
    app.delete(
      '/tokens/:tokenId',
      {
        schema: {
          ...about('End an admin token, by ADMIN_TOKEN alone'),
          params: AdminTokenPath,
          response: { 200: AdminSuccess },
        },
        config,
      },
      async ({ params, by }) => {
        await adminTokensAs(by).revoke(params.tokenId)
        return { success: true } as const
      },
    )
  }
