import type { Config } from '../../../core/config/settings.ts'
import { requireQueryCaller } from '../../queries/query-limiter.ts'
import { type Jupiter, openJupiter } from './jupiter.ts'
import { type Kyberswap, openKyberswap } from './kyberswap.ts'

/** Aggregators elsewhere, where they are configured. */
export interface Aggregators {
  readonly jupiter?: Jupiter
  readonly kyberswap?: Kyberswap
}

/** Opens those that the configuration names. Their calls are made on behalf of a request: outside of one is a bug. */
export const openAggregators = ({
  jupiterUrl,
  jupiterApiKey,
  kyberswapUrl,
  kyberswapClientId,
}: Pick<
  Config,
  'jupiterUrl' | 'jupiterApiKey' | 'kyberswapUrl' | 'kyberswapClientId'
>): Aggregators => ({
  ...(!jupiterUrl.isEmpty && {
    jupiter: openJupiter(jupiterUrl.reveal(), jupiterApiKey.reveal(), requireQueryCaller),
  }),
  ...(!kyberswapUrl.isEmpty && {
    kyberswap: openKyberswap(kyberswapUrl.reveal(), kyberswapClientId, requireQueryCaller),
  }),
})
