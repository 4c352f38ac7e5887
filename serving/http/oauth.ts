import { type FastifyPluginAsyncTypebox, Type } from '@fastify/type-provider-typebox'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { Fault, Outage } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { namedObject } from '../../schemas/api/common.ts'
import { SCOPES } from '../../schemas/scopes.ts'
import { countAuthFailure } from '../auth/failure-metrics.ts'
import type { Organizations } from '../auth/organizations.ts'
import { TokenRequestError } from '../auth/token-issuer.ts'
import type { Meter } from '../interfaces.ts'
import { toFault } from './problem-details.ts'
import { type FaultReporting, reportFault } from './report-fault.ts'

/** What the token service works with. */
export interface OAuthDeps {
  readonly organizations: Pick<Organizations, 'tokens' | 'keySet' | 'tokenPlace'>
  readonly meter: Pick<Meter, 'take'>
  readonly metrics: Pick<Metrics, 'authFailures' | 'edgeErrors'>
  readonly log: Logger
}

const TOKEN_PATH = '/oauth/token'
const KEYS_PATH = '/.well-known/jwks.json'
const METADATA_PATHS = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
] as const
const BODY_LIMIT_BYTES = 8_192
const CACHE_CONTROL = 'public, max-age=3600'

const TokenBody = namedObject('TokenRequest', {
  grant_type: Type.Optional(Type.String({ description: 'client_credentials' })),
  client_id: Type.Optional(Type.String({ description: 'Here, or by HTTP Basic' })),
  client_secret: Type.Optional(Type.String()),
  audience: Type.Optional(Type.String()),
  scope: Type.Optional(Type.String({ description: `Some of: ${SCOPES.join(' ')}` })),
})

const AccessTokenBody = namedObject('AccessToken', {
  access_token: Type.String(),
  token_type: Type.Enum(['Bearer']),
  expires_in: Type.Integer({ description: 'Seconds' }),
  scope: Type.Optional(Type.String({ description: 'Those given, when there are any' })),
})

const OAuthError = namedObject('OAuthError', {
  error: Type.String({ description: 'As RFC 6749 5.2 names it' }),
  error_description: Type.String(),
  requestId: Type.String({ description: 'Also in the header X-Request-Id' }),
})

const ERROR_RESPONSES = Object.fromEntries(
  [400, 401, 403, 413, 429, 500, 503].map((status) => [status, OAuthError]),
)

const KeySet = namedObject('KeySet', {
  keys: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
    description: 'Public keys. Source: RFC 7517',
  }),
})

const STRING_LIST = Type.Array(Type.String())

const AuthorizationServerMetadata = namedObject('TokenService', {
  issuer: Type.String(),
  token_endpoint: Type.String(),
  jwks_uri: Type.String(),
  grant_types_supported: STRING_LIST,
  response_types_supported: STRING_LIST,
  token_endpoint_auth_methods_supported: STRING_LIST,
  scopes_supported: STRING_LIST,
})

/** Token endpoint, key set and metadata: they need no credential of their own. */
export const oauthPlugin =
  (deps: OAuthDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(async (scope) => {
      scope.addContentTypeParser(
        'application/x-www-form-urlencoded',
        { parseAs: 'string', bodyLimit: BODY_LIMIT_BYTES },
        async (_request: FastifyRequest, text: string) => parseForm(text),
      )
      scope.setErrorHandler((error, request, reply) => sendOAuthError(error, request, reply, deps))
      tokenRoute(scope, deps)
    })
    discoveryRoutes(app, deps)
  }

const tokenRoute = (scope: FastifyInstance, deps: OAuthDeps): void => {
  const { organizations } = deps
  const schema = { summary: 'An access token for client credentials', tags: ['auth'] }
  scope.post<{ Body: TokenFields }>(
    TOKEN_PATH,
    {
      schema: {
        ...schema,
        body: TokenBody,
        response: { 200: AccessTokenBody, ...ERROR_RESPONSES },
      },
      bodyLimit: BODY_LIMIT_BYTES,
    },
    async (request, reply) => {
      const { body, caller: ip, id: requestId } = request
      const issue = async () =>
        organizations.tokens.issue({
          ...parseClientCredentials(request.headers.authorization, body),
          grantType: body.grant_type,
          audience: body.audience,
          scope: body.scope,
          ip,
          requestId,
        })
      const { accessToken, expiresInSeconds, scopes } = await issue().catch(
        async (error: unknown) => {
          throw await limitRejected(error, ip, deps)
        },
      )
      deps.log.info(
        {
          action: 'token.issue',
          actor: parseClientCredentials(request.headers.authorization, body).clientId,
          address: ip,
          requestId,
        },
        'audit',
      )
      return withNoStore(reply).send({
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: expiresInSeconds,
        ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      })
    },
  )
}

/** Refused requests are limited by address; good ones never wait for those of a neighbour. */
const limitRejected = async (error: unknown, ip: string, deps: OAuthDeps): Promise<unknown> => {
  if (!(error instanceof TokenRequestError)) return error
  const { allowed, retryAfterSeconds } = await deps.meter.take({ ip })
  const fault = allowed
    ? error
    : new TokenRequestError('temporarily_unavailable', 'Too many requests', retryAfterSeconds)
  const reason = FAILURE_REASONS[fault.error]
  if (reason !== undefined) countAuthFailure(deps.metrics, 'oauth', reason)
  return fault
}

/** Refusals that are about who asks, by the metric's word for them. */
const FAILURE_REASONS: Readonly<Record<string, string>> = {
  invalid_client: 'invalid_client',
  access_denied: 'suspended',
  invalid_scope: 'missing_scope',
  temporarily_unavailable: 'rate_limited',
}

interface TokenFields {
  readonly grant_type?: string
  readonly client_id?: string
  readonly client_secret?: string
  readonly audience?: string
  readonly scope?: string
}

const discoveryRoutes = (app: FastifyInstance, { organizations }: OAuthDeps): void => {
  const schema = (summary: string, response: TSchema) => ({
    schema: { summary, tags: ['auth'], response: { 200: response } },
  })
  app.get(KEYS_PATH, schema('Keys that verify access tokens', KeySet), async (_request, reply) => {
    const keys = await organizations.keySet()
    return reply.header('Cache-Control', CACHE_CONTROL).send({ keys })
  })
  for (const path of METADATA_PATHS) {
    app.get(
      path,
      schema('What the token service offers', AuthorizationServerMetadata),
      async (_request, reply) => {
        const { issuer } = organizations.tokenPlace()
        const base = issuer.replace(/\/$/, '')
        return reply.header('Cache-Control', CACHE_CONTROL).send({
          issuer,
          token_endpoint: `${base}${TOKEN_PATH}`,
          jwks_uri: `${base}${KEYS_PATH}`,
          grant_types_supported: ['client_credentials'],
          response_types_supported: [],
          token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
          scopes_supported: SCOPES,
        })
      },
    )
  }
}

/** A form as fields. Throws `OAuthFault` where one comes twice (RFC 6749 3.2). */
const parseForm = (text: string): Readonly<Record<string, string>> => {
  const fields = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) throw new TokenRequestError('invalid_request', 'A parameter came twice')
    fields.set(name, value)
  }
  return Object.fromEntries(fields)
}

interface ClientCredentials {
  readonly clientId: string | undefined
  readonly clientSecret: string | undefined
}

const BASIC_PATTERN = /^basic +/i

/** The client by HTTP Basic or in the body, never both (RFC 6749 2.3.1). */
const parseClientCredentials = (
  authorization: string | undefined,
  body: TokenFields,
): ClientCredentials => {
  const inBody = { clientId: body.client_id, clientSecret: body.client_secret }
  if (authorization === undefined || !BASIC_PATTERN.test(authorization)) return inBody
  const basic = parseBasicCredentials(authorization.replace(BASIC_PATTERN, ''))
  const same = inBody.clientId === undefined || inBody.clientId === basic.clientId
  if (!same || inBody.clientSecret !== undefined) {
    throw new TokenRequestError('invalid_request', 'The client is named twice')
  }
  return basic
}

const parseBasicCredentials = (text: string): ClientCredentials => {
  const pair = Buffer.from(text, 'base64').toString('utf8')
  const cut = pair.indexOf(':')
  if (cut < 1)
    throw new TokenRequestError('invalid_client', 'The client or its secret is not known')
  return {
    clientId: decodeFormValue(pair.slice(0, cut)),
    clientSecret: decodeFormValue(pair.slice(cut + 1)),
  }
}

const decodeFormValue = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

const withNoStore = (reply: FastifyReply): FastifyReply =>
  reply.header('Cache-Control', 'no-store').header('Pragma', 'no-cache')

interface OAuthErrorInfo {
  readonly status: number
  readonly error: string
  readonly description: string
  readonly retryAfterSeconds?: number | undefined
}

const toOAuthError = (error: unknown): OAuthErrorInfo => {
  if (error instanceof TokenRequestError) {
    const { status, message, retryAfterSeconds } = error
    return { status, error: error.error, description: message, retryAfterSeconds }
  }
  if (error instanceof Outage) {
    return {
      status: 503,
      error: 'temporarily_unavailable',
      description: 'Tokens cannot be issued at the moment',
      retryAfterSeconds: 1,
    }
  }
  const { statusCode = error instanceof Fault ? error.status : 500, validation } = (error ??
    {}) as Partial<FastifyError>
  if (validation === undefined && (statusCode < 400 || statusCode > 499)) {
    return { status: 500, error: 'server_error', description: 'Internal error' }
  }
  const description = validation ? 'A parameter is not a text' : 'The body cannot be read'
  return { status: statusCode === 413 ? 413 : 400, error: 'invalid_request', description }
}

/** The shape that OAuth clients read (RFC 6749 5.2), with our request id. */
const sendOAuthError = (
  cause: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  reporting: FaultReporting,
): FastifyReply => {
  const { status, error, description, retryAfterSeconds } = toOAuthError(cause)
  if (status >= 500) {
    const message = 'token request failed'
    reportFault(reporting, {
      request,
      error: cause,
      message,
      fault: toFault(cause),
      surface: 'public',
    })
  }
  const byBasic = BASIC_PATTERN.test(request.headers.authorization ?? '')
  if (status === 401 && byBasic) reply.header('WWW-Authenticate', 'Basic realm="oauth"')
  if (retryAfterSeconds !== undefined) reply.header('Retry-After', retryAfterSeconds)
  return withNoStore(reply)
    .status(status)
    .send({ error, error_description: description, requestId: request.id })
}
