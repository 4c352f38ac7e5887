import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../../core/errors.ts'
import { toIsoTime } from '../../core/time.ts'
import {
  PlanPrices,
  Purchase,
  PurchasedPlan,
  PurchaseQuery,
  PurchaseStatusQuery,
} from '../../schemas/api/purchases.ts'
import { caip2Name } from '../../schemas/payment-networks.ts'
import { BOUGHT_PLAN_DAYS, isPlanName, PLANS } from '../../schemas/plans.ts'
import type { PlanPurchase } from '../../schemas/wire.ts'
import type { Organizations } from '../auth/organizations.ts'
import { normalizeWalletAddress } from '../auth/siwx-message.ts'
import { isLinked, walletKey } from '../auth/wallet-link-rows.ts'
import type { QuotaMeter } from '../billing/meter.ts'
import type { PaymentFailure } from '../payments/payments.ts'
import type { PlanForSale, PlanSales, Sale } from '../payments/plan-sales.ts'
import type { PaymentDeps } from '../payments/start.ts'
import { makeOffers, matchOffer } from '../payments/terms.ts'
import { limitByAddress } from './address-limit.ts'
import {
  digestOf,
  PLAN_PATHS,
  readPayment,
  replyWithTerms,
  setReceipt,
  type Terms,
  withRetryAfter,
} from './payment-hooks.ts'

/** What the routes of purchases work with. */
export interface PurchaseDeps {
  readonly payPerCall?: PaymentDeps
  readonly organizations: Pick<Organizations, 'registry'>
  readonly meter: QuotaMeter
  readonly nowMs: () => number
}

const NOTE = `A plan lasts ${BOUGHT_PLAN_DAYS} days from its purchase; a new purchase replaces it. Units are counted anew from the purchase, and with each calendar month (UTC).`

/** A payment that is offered, and what stands in its header. */
type OfferBody = Parameters<PlanSales['buy']>[1]

/** Prices, purchase and status of plans that wallets buy; none of them needs a credential. */
export const purchaseRoutes =
  (deps: PurchaseDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const open = (summary: string) => ({ summary, tags: ['purchases'] })
    const onRequest = limitByAddress(deps.meter)
    app.get(
      PLAN_PATHS.pricing,
      {
        schema: { ...open('Plans that a wallet can buy'), response: { 200: PlanPrices } },
        onRequest,
      },
      async () => pricesBody(requireSales(deps)),
    )
    app.get(
      '/x402/status',
      {
        schema: {
          ...open('The bought plan of a wallet'),
          querystring: PurchaseStatusQuery,
          response: { 200: PurchasedPlan },
        },
        onRequest,
      },
      async ({ query }, reply) => {
        if (!requireSales(deps).payPerCall.showsStatus) throw notOffered()
        reply.header('Cache-Control', 'no-store')
        const address = normalizeWalletAddress(query.chain, query.address)
        if (address === undefined)
          throw new Fault('INVALID_ADDRESS', undefined, {
            parameter: 'address',
            value: query.address,
          })
        return statusBody(deps, query.chain, address)
      },
    )
    const schema = {
      ...open('Buy a plan with a payment'),
      querystring: PurchaseQuery,
      response: { 200: Purchase },
    }
    // A call that moves money is not made by who asks for its head.
    const options = { schema, onRequest, exposeHeadRoute: false }
    const buy = async (
      request: FastifyRequest<{ Querystring: { readonly plan?: string } }>,
      reply: FastifyReply,
    ): Promise<Purchase> => {
      const { sales, payPerCall } = requireSales(deps)
      reply.header('Cache-Control', 'no-store')
      const plan = findPlan(sales, request.query.plan)
      return buyPlan(request, reply, { sales, payPerCall, plan })
    }
    app.get(PLAN_PATHS.purchase, options, buy)
    app.post(PLAN_PATHS.purchase, options, buy)
  }

const notOffered = (): Fault => new Fault('NOT_IMPLEMENTED', 'This installation sells no plans')

interface OpenSales {
  readonly sales: PlanSales
  readonly payPerCall: PaymentDeps
}

const requireSales = ({ payPerCall }: PurchaseDeps): OpenSales => {
  if (payPerCall?.sales === undefined) throw notOffered()
  return { payPerCall, sales: payPerCall.sales }
}

const findPlan = ({ plans }: PlanSales, name: string | undefined): PlanForSale => {
  const plan = plans.find((each) => each.plan === name)
  if (plan !== undefined) return plan
  throw new Fault('INVALID_PARAMETER', 'plan must be one of the plans for sale', {
    parameter: 'plan',
    value: name ?? null,
    allowed: plans.map((each) => each.plan),
  })
}

const quotaTotal = (plan: string): number =>
  (isPlanName(plan) ? PLANS[plan].unitsPerMonth : 0) ?? -1

const pricesBody = ({ sales, payPerCall }: OpenSales): PlanPrices => ({
  plans: sales.plans.map(({ plan, priceUsd }) => ({
    name: plan,
    priceUsd,
    quotaTotal: quotaTotal(plan),
    durationDays: BOUGHT_PLAN_DAYS,
  })),
  currency: 'USDC',
  networks: payPerCall.prices.networks.map(caip2Name),
  note: NOTE,
})

const buyPlan = async (
  request: FastifyRequest,
  reply: FastifyReply,
  { sales, payPerCall, plan }: OpenSales & { readonly plan: PlanForSale },
): Promise<Purchase> => {
  const header = readPayment(request)
  const description = `${BOUGHT_PLAN_DAYS} days of the plan ${plan.plan}`
  const resource = { url: payPerCall.baseUrl() + PLAN_PATHS.purchase, description }
  const offers = makeOffers(plan.priceRaw, payPerCall.prices)
  const details = { plan: plan.plan, pricing: PLAN_PATHS.pricing }
  const terms: Terms = { offers, resource, details }
  if (header === undefined) throw replyWithTerms(request, reply, terms)
  const offer = matchOffer(header, offers, resource.url)
  if (typeof offer === 'string') throw replyWithTerms(request, reply, { ...terms, problem: offer })
  const { payload, version } = header
  const route = `${request.method} ${PLAN_PATHS.purchase} ${plan.plan}`
  const call = digestOf(request)
  const paid = { offer, resource, payload, version, route, call, address: request.caller }
  const by = { address: request.caller, requestId: request.id }
  const sale = await withRetryAfter(reply, () => sales.buy(plan.plan, paid, by))
  if (sale.kind === 'refused') throw refusedSale(request, reply, { terms, paid, sale })
  const { payer, transaction, isNew, purchase, apiKey } = sale
  setReceipt(paid, reply, { success: true, transaction, payer })
  if (!isNew) reply.header('Idempotent-Replayed', 'true')
  return purchaseBody(purchase, apiKey)
}

const refusedSale = (
  request: FastifyRequest,
  reply: FastifyReply,
  {
    terms,
    paid,
    sale: { problem, payer },
  }: { readonly terms: Terms; readonly paid: OfferBody; readonly sale: PaymentFailure },
): Fault => {
  const failed = { success: false, transaction: '', errorReason: problem }
  setReceipt(paid, reply, { ...failed, ...(payer !== undefined && { payer }) })
  return replyWithTerms(request, reply, { ...terms, problem })
}

const purchaseBody = (
  { plan, chain, address, ends_at, transaction }: PlanPurchase,
  apiKey: Extract<Sale, { kind: 'bought' }>['apiKey'],
): Purchase => ({
  status: 'ok',
  plan,
  chain: chain as Purchase['chain'],
  address,
  expiresAt: toIsoTime(ends_at),
  txHash: transaction,
  apiKey,
})

/** Nothing is returned about organizations that never bought a plan. */
const statusBody = (
  { organizations: { registry }, meter, nowMs }: PurchaseDeps,
  chain: string,
  address: string,
): PurchasedPlan => {
  const link = registry.walletLink(walletKey(chain, address))
  const org = link && isLinked(link) ? registry.org(link.org_id) : undefined
  const newest = org && registry.newestOf(org.org_id)
  const pending = registry.open().some((each) => each.chain === chain && each.address === address)
  if (org === undefined || newest === undefined)
    return { plan: null, quota: { used: 0, total: 0 }, expiresAt: null, active: false, pending }
  const { plan, ends_at, starts_at, used_before } = newest
  const countsFrom = { atMs: starts_at, milliUnits: used_before }
  const name = isPlanName(plan) ? plan : 'free'
  const { used } = meter.quota({ orgId: org.org_id, plan: name, countsFrom })
  return {
    plan,
    quota: { used, total: quotaTotal(plan) },
    expiresAt: toIsoTime(ends_at),
    active: ends_at > nowMs() && !org.suspended,
    pending,
  }
}
