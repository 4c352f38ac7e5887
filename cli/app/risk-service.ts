import { makeRecordSigner } from '../../core/security/record-signature.ts'
import { riskRoutes } from '../../serving/http/risk.ts'
import type { RoutePlugin } from '../../serving/http/routing.ts'
import { openAssessmentStore } from '../../serving/risk/assessment-store.ts'
import { startScreener } from '../../serving/risk/screener.ts'
import type { Infra } from './infra.ts'
import type { ServiceDeps } from './services.ts'

/** Registrations of risk screening over REST and the screening behind them; the topics and tables must exist. */
export const startRiskService = async (
  deps: Pick<ServiceDeps, 'config' | 'chains' | 'metrics' | 'log' | 'lifecycle' | 'checks'>,
  parts: Infra,
): Promise<RoutePlugin> => {
  const { config, lifecycle, checks, chains } = deps
  const log = deps.log.child({ role: 'risk' })
  const nowMs = Date.now
  const signer = makeRecordSigner(config.keyPepper.reveal())
  const store = await openAssessmentStore({ ...deps, ...parts, log, nowMs, signer })
  lifecycle.add({ name: 'risk assessments', stop: () => store.stop() })
  checks.push(store.check)
  const { chainExtra } = config
  const screener = startScreener({
    ...parts,
    store,
    metrics: deps.metrics,
    log,
    nowMs,
    chains,
    chainExtra,
  })
  lifecycle.add({ name: 'risk screening', stop: () => screener.stop() })
  return riskRoutes({ store, chains })
}
