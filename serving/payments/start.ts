import assert from 'node:assert/strict'
import type { RunningTask } from '../../core/bus/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { type ChainCheck, openRpcPool, type RpcPool } from '../../core/rpc/pool.ts'
import { readSolanaKey, type SolanaKey } from '../../core/solana-key.ts'
import {
  isSvmNetwork,
  PAYMENT_NETWORKS,
  type PaymentNetworkName,
  paymentChain,
} from '../../schemas/payment-networks.ts'
import type { Facilitator } from './contract.ts'
import { lookUpEnded, openClient, payerBalanceRaw } from './evm-node.ts'
import { createEvmSettlement } from './evm-settlement.ts'
import { type FinishDeps, startFinishingPurchases } from './finish-purchases.ts'
import { createMockFacilitator } from './mock-facilitator.ts'
import { openPaymentLog, type PaymentLogDeps } from './payment-log.ts'
import type { Payments, PaymentsDeps } from './payments.ts'
import { createPayments } from './payments.ts'
import type { PlanSales } from './plan-sales.ts'
import { createPlanSales, readPlanPrices } from './plan-sales.ts'
import { createRemoteFacilitator, type RemoteFacilitatorDeps } from './remote-facilitator.ts'
import { lookUpSvmTransfer, openSvmClient } from './svm-node.ts'
import { createSvmSettlement, payerBalance } from './svm-settlement.ts'
import type { PaymentPrices } from './terms.ts'

/** What paying for calls needs of the process. */
export interface PayPerCallDeps
  extends PaymentLogDeps,
    Pick<FinishDeps, 'organizations' | 'usedMilli' | 'graceMs' | 'everyMs'>,
    Pick<PaymentsDeps, 'hasSevereLabel'> {
  readonly metrics: Metrics
  readonly config: Pick<
    Config,
    | 'x402PayTo'
    | 'x402Networks'
    | 'x402Facilitator'
    | 'x402FacilitatorUrl'
    | 'x402GasKey'
    | 'x402RpcUrl'
    | 'x402SolanaPayTo'
    | 'x402SolanaFeeKey'
    | 'x402SolanaFeePayer'
    | 'x402SolanaMaxFee'
    | 'x402SolanaFailedFees'
    | 'x402SolanaMemo'
    | 'x402SolanaRpcUrl'
    | 'x402MinAtomic'
    | 'x402AtomicPerCu'
    | 'x402Plans'
    | 'x402Status'
    | 'chainRpcUrls'
    | 'rpcConcurrency'
    | 'rpcPerSecond'
    | 'rpcTimeoutMs'
  >
}

/** Payments of calls as the settings say; undefined where no network is named. Throws `Outage` when the log cannot be read. */
export const startPayPerCall = async (
  deps: PayPerCallDeps,
  baseUrl: () => string,
): Promise<(PaymentDeps & RunningTask) | undefined> => {
  const { config, nowMs, log, metrics } = deps
  if (config.x402Networks.length === 0) return undefined
  const stopped = new AbortController()
  const facilitators = new Map<PaymentNetworkName, Facilitator>()
  for (const network of config.x402Networks)
    facilitators.set(network, await openFacilitator(network, deps, stopped.signal))
  const facilitatorOf = (network: PaymentNetworkName): Facilitator => {
    const facilitator = facilitators.get(network)
    if (facilitator === undefined) throw new Error(`${network} is not offered`)
    return facilitator
  }
  const paymentLog = await openPaymentLog(deps)
  const { hasSevereLabel } = deps
  const payments = createPayments({
    facilitatorOf,
    hasSevereLabel,
    paymentLog,
    metrics,
    nowMs,
    log,
    failedFeesPerHour: config.x402SolanaFailedFees,
  })
  const finishing = startFinishingPurchases({
    ...deps,
    payments,
    paymentLog,
    facilitatorOf: (network) => facilitators.get(network),
  })
  const plans = readPlanPrices(config.x402Plans)
  return {
    payments,
    ...(plans.length > 0 && { sales: createPlanSales({ ...deps, plans, payments }) }),
    showsStatus: config.x402Status,
    prices: {
      payTo: config.x402PayTo,
      ...svmPrices(config),
      networks: config.x402Networks,
      minRaw: BigInt(config.x402MinAtomic),
      perUnitRaw: BigInt(config.x402AtomicPerCu),
    },
    baseUrl: () => baseUrl().replace(/\/+$/, ''),
    stop: async () => {
      await finishing.stop()
      await paymentLog.stop()
      stopped.abort()
      for (const each of facilitators.values()) await each.close()
    },
  }
}

/** Who is paid on Solana, where it is offered. */
const svmPrices = (config: PayPerCallDeps['config']): Pick<PaymentPrices, 'svm'> => {
  const { x402SolanaPayTo: payTo, x402SolanaMaxFee: maxFeeLamports, x402SolanaMemo: memo } = config
  if (payTo === '') return {}
  const feePayer =
    config.x402Facilitator === 'embedded' ? readFeeKey(config).address : config.x402SolanaFeePayer
  return { svm: { payTo, feePayer, maxFeeLamports, ...(memo !== '' && { memo }) } }
}

const readFeeKey = ({ x402SolanaFeeKey }: Pick<Config, 'x402SolanaFeeKey'>): SolanaKey => {
  const key = readSolanaKey(x402SolanaFeeKey.reveal())
  assert(key !== undefined, 'settings with a key that cannot be read are refused')
  return key
}

const openFacilitator = async (
  network: PaymentNetworkName,
  deps: PayPerCallDeps,
  signal: AbortSignal,
): Promise<Facilitator> => {
  const { config, log } = deps
  if (config.x402Facilitator === 'mock') return createMockFacilitator()
  const pool = openNodes(network, deps, signal)
  if (config.x402Facilitator === 'embedded')
    return isSvmNetwork(network)
      ? createSvmSettlement({ network, pool, feeKey: readFeeKey(config), log })
      : createEvmSettlement({ network, pool, gasKey: config.x402GasKey.reveal(), log })
  const remote = createRemoteFacilitator({
    url: config.x402FacilitatorUrl.reveal(),
    log,
    ...(nodeUrls(network, config).length > 0 && nodeReads(network, pool)),
  })
  return {
    ...remote,
    close: async () => {
      await remote.close()
      pool.close()
    },
  }
}

/** What a facilitator elsewhere is checked with. */
const nodeReads = (
  network: PaymentNetworkName,
  pool: RpcPool,
): Pick<RemoteFacilitatorDeps, 'lookUp' | 'payerBalanceRaw'> => {
  if (isSvmNetwork(network)) {
    const client = openSvmClient(pool)
    return {
      lookUp: (transfer, earlier) => lookUpSvmTransfer(client, transfer, earlier),
      payerBalanceRaw: (payment) => payerBalance(client, payment),
    }
  }
  const client = openClient({ network, pool })
  return {
    lookUp: (transfer, earlier) => lookUpEnded(client, transfer, earlier),
    payerBalanceRaw: (payment) => payerBalanceRaw(client, payment),
  }
}

/** A node of calls; RPC_URLS_ may name streams too. */
const CALL_URL = /^(https?|wss?):/

/** The chain's own nodes where it has some, and the one that is named for payments. */
const nodeUrls = (
  network: PaymentNetworkName,
  { chainRpcUrls, x402RpcUrl, x402SolanaRpcUrl }: PayPerCallDeps['config'],
): readonly string[] => {
  const chain = paymentChain(network)
  const own = chain === undefined ? [] : (chainRpcUrls[chain] ?? [])
  return [...own, isSvmNetwork(network) ? x402SolanaRpcUrl : x402RpcUrl]
    .filter((url) => !url.isEmpty)
    .map((url) => url.reveal())
    .filter((url) => CALL_URL.test(url))
}

const identityOf = (network: PaymentNetworkName): ChainCheck => {
  const row = PAYMENT_NETWORKS[network]
  return row.vm === 'evm'
    ? {
        call: { method: 'eth_chainId', params: [] },
        accepts: (answer) => Number(answer) === row.chainId,
        name: `chain id ${row.chainId}`,
      }
    : {
        call: { method: 'getGenesisHash', params: [] },
        accepts: (answer) => typeof answer === 'string' && answer.startsWith(row.genesis),
        name: `genesis ${row.genesis}`,
      }
}

const openNodes = (
  network: PaymentNetworkName,
  { config, metrics, log }: PayPerCallDeps,
  signal: AbortSignal,
): RpcPool =>
  openRpcPool({
    role: 'serve',
    chain: network,
    urls: nodeUrls(network, config),
    identity: identityOf(network),
    concurrency: config.rpcConcurrency,
    perSecond: config.rpcPerSecond,
    timeoutMs: config.rpcTimeoutMs,
    metrics,
    log,
    signal,
  })

/** What paying for calls works with; where it is absent, calls need a credential. */
export interface PaymentDeps {
  readonly payments: Payments
  readonly prices: PaymentPrices
  /** Public address of the API without a slash at its end: never what a client says in `Host`. */
  readonly baseUrl: () => string
  /** Present: wallets can buy plans. */
  readonly sales?: PlanSales
  /** Whether everybody may ask for the bought plan of a wallet. */
  readonly showsStatus: boolean
}
