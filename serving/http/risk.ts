import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { TSchema } from 'typebox'
import { Fault } from '../../core/errors.ts'
import {
  KyaVerifiedAddress,
  KytAddressIdentifications,
  KytAddressParams,
  KytAddressRisk,
  KytAlerts,
  KytDirectExposure,
  KytFraudAssessment,
  KytNetworkIdentifications,
  KytRegisteredAddress,
  KytTransfer,
  KytTransferParams,
  KytWithdrawal,
  KytWithdrawalParams,
  RegisterKytAddress,
  RegisterKytTransfer,
  RegisterKytWithdrawal,
  VerifyKyaAddress,
} from '../../schemas/api/risk.ts'
import type { RouteName } from '../../schemas/plans.ts'
import type { RiskAssessment } from '../../schemas/wire.ts'
import { type AssessmentRequest, assessmentId } from '../risk/assessment.ts'
import type { AssessmentStore } from '../risk/assessment-store.ts'
import {
  addressIdentificationsBody,
  addressRiskBody,
  alertsBody,
  directExposureBody,
  fraudAssessmentBody,
  networkIdentificationsBody,
  transferBody,
  verifiedAddressBody,
  withdrawalBody,
} from '../risk/bodies.ts'
import {
  addressRequest,
  transferRequest,
  verificationRequest,
  withdrawalRequest,
} from '../risk/registration.ts'
import { pricedRoute } from './routing.ts'
import { requireOwner } from './webhooks.ts'

const READ_SCOPES = ['kyt.read']
const WRITE_SCOPES = ['kyt.write']
const TAGS = ['risk']

/** What the routes work with. */
export interface RiskRouteDeps {
  readonly store: Pick<AssessmentStore, 'read' | 'register'>
  /** Chains that this installation holds data of, by internal id. */
  readonly chains: readonly string[]
}

/** A read of one record: what it is called, and how it is told. */
interface RecordRoute {
  readonly name: RouteName
  readonly summary: string
  readonly body: TSchema
  readonly tell: (record: RiskAssessment) => unknown
}

const TRANSFER_ROUTES: readonly RecordRoute[] = [
  {
    name: 'GET /kyt/transfers/:transferId/summary',
    summary: 'A registered transfer with its assessment',
    body: KytTransfer,
    tell: transferBody,
  },
  {
    name: 'GET /kyt/transfers/:transferId/alerts',
    summary: 'Alerts of a registered transfer',
    body: KytAlerts,
    tell: alertsBody,
  },
  {
    name: 'GET /kyt/transfers/:transferId/exposures/direct',
    summary: 'Direct exposure of a registered transfer',
    body: KytDirectExposure,
    tell: directExposureBody,
  },
  {
    name: 'GET /kyt/transfers/:transferId/network-identifications',
    summary: "Known owners of a registered transfer's other side",
    body: KytNetworkIdentifications,
    tell: networkIdentificationsBody,
  },
]

const WITHDRAWAL_ROUTES: readonly RecordRoute[] = [
  {
    name: 'GET /kyt/withdrawal/:withdrawalId/summary',
    summary: 'A registered withdrawal with its assessment',
    body: KytWithdrawal,
    tell: withdrawalBody,
  },
  {
    name: 'GET /kyt/withdrawal/:withdrawalId/alerts',
    summary: 'Alerts of a registered withdrawal',
    body: KytAlerts,
    tell: alertsBody,
  },
  {
    name: 'GET /kyt/withdrawal/:withdrawalId/exposures/direct',
    summary: 'Direct exposure of a registered withdrawal',
    body: KytDirectExposure,
    tell: directExposureBody,
  },
  {
    name: 'GET /kyt/withdrawal/:withdrawalId/network-identifications',
    summary: "Known owners of a registered withdrawal's target",
    body: KytNetworkIdentifications,
    tell: networkIdentificationsBody,
  },
  {
    name: 'GET /kyt/withdrawal/:withdrawalId/address-identifications',
    summary: "Labels of a registered withdrawal's target",
    body: KytAddressIdentifications,
    tell: addressIdentificationsBody,
  },
  {
    name: 'GET /kyt/withdrawal/:withdrawalId/fraud-assessment',
    summary: "Signs of fraud at a registered withdrawal's target",
    body: KytFraudAssessment,
    tell: fraudAssessmentBody,
  },
]

/** Registration and results of risk screening; an organization finds its own records only. */
export const riskRoutes =
  (deps: RiskRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(registrationRoutes(deps))
    await app.register(addressRoute(deps))
    await app.register(verificationRoute(deps))
    await app.register(recordRoutes(deps, 'transfer'))
    await app.register(recordRoutes(deps, 'withdrawal'))
  }

const recordOf = async (
  { store }: RiskRouteDeps,
  {
    orgId,
    id,
    kind,
  }: { readonly orgId: string; readonly id: string; readonly kind: AssessmentRequest['kind'] },
): Promise<RiskAssessment> => {
  const record = await store.read(orgId, id.toLowerCase())
  if (record?.kind !== kind) throw new Fault('NOT_FOUND')
  return record
}

const registrationRoutes =
  ({ store, chains }: RiskRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/kyt/address',
      {
        schema: {
          summary: 'Registers an address for screening; again changes nothing',
          tags: TAGS,
          body: RegisterKytAddress,
          response: { 200: KytRegisteredAddress },
        },
        config: pricedRoute('POST /kyt/address', WRITE_SCOPES),
      },
      async (request) => {
        const { orgId } = requireOwner(request)
        const registration = addressRequest(request.body.address, chains)
        await store.register(orgId, registration)
        return { address: registration.address }
      },
    )
    app.post(
      '/kyt/transfer',
      {
        schema: {
          summary: 'Registers a transfer for screening; again changes nothing',
          tags: TAGS,
          body: RegisterKytTransfer,
          response: { 200: KytTransfer },
        },
        config: pricedRoute('POST /kyt/transfer', WRITE_SCOPES),
      },
      async (request) => {
        const { orgId } = requireOwner(request)
        return transferBody(await store.register(orgId, transferRequest(request.body, chains)))
      },
    )
    app.post(
      '/kyt/withdrawal',
      {
        schema: {
          summary: 'Registers a withdrawal before it is made; again changes nothing',
          tags: TAGS,
          body: RegisterKytWithdrawal,
          response: { 200: KytWithdrawal },
        },
        config: pricedRoute('POST /kyt/withdrawal', WRITE_SCOPES),
      },
      async (request) => {
        const { orgId } = requireOwner(request)
        return withdrawalBody(await store.register(orgId, withdrawalRequest(request.body, chains)))
      },
    )
  }

const verificationRoute =
  ({ store, chains }: RiskRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/kya/address/verify',
      {
        schema: {
          summary: 'What an address is exposed to; registers it, and again tells how it stands',
          tags: TAGS,
          body: VerifyKyaAddress,
          response: { 200: KyaVerifiedAddress },
        },
        config: pricedRoute('POST /kya/address/verify', WRITE_SCOPES),
      },
      async (request) => {
        const { orgId } = requireOwner(request)
        const registration = verificationRequest(request.body, chains)
        return verifiedAddressBody(await store.register(orgId, registration))
      },
    )
  }

const addressRoute =
  (deps: RiskRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/kyt/addresses/:address/risk',
      {
        schema: {
          summary: 'Assessment of a registered address',
          tags: TAGS,
          params: KytAddressParams,
          response: { 200: KytAddressRisk },
        },
        config: pricedRoute('GET /kyt/addresses/:address/risk', READ_SCOPES),
      },
      async (request) => {
        const { orgId } = requireOwner(request)
        const registration = addressRequest(request.params.address, deps.chains)
        const id = assessmentId(orgId, registration)
        return addressRiskBody(await recordOf(deps, { orgId, id, kind: 'address' }))
      },
    )
  }

const recordRoutes =
  (deps: RiskRouteDeps, kind: 'transfer' | 'withdrawal'): FastifyPluginAsyncTypebox =>
  async (app) => {
    const [routes, params] =
      kind === 'transfer'
        ? ([TRANSFER_ROUTES, KytTransferParams] as const)
        : ([WITHDRAWAL_ROUTES, KytWithdrawalParams] as const)
    for (const { name, summary, body, tell } of routes) {
      app.get(
        name.replace('GET ', ''),
        {
          schema: { summary, tags: TAGS, params, response: { 200: body } },
          config: pricedRoute(name, READ_SCOPES),
        },
        async (request) => {
          const { orgId } = requireOwner(request)
          const [id = ''] = Object.values(request.params as Readonly<Record<string, string>>)
          return tell(await recordOf(deps, { orgId, id, kind }))
        },
      )
    }
  }
