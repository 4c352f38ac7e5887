import type { Config } from '../../../core/config/settings.ts'
import { type Jupiter, openJupiter } from './jupiter.ts'
import { type Kyberswap, openKyberswap } from './kyberswap.ts'

/** Aggregators elsewhere, where they are configured. */
export interface Aggregators {
  readonly jupiter?: Jupiter
  readonly kyberswap?: Kyberswap
}

/** Opens those that the configuration names. */
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
    jupiter: openJupiter(jupiterUrl.reveal(), jupiterApiKey.reveal()),
  }),
  ...(!kyberswapUrl.isEmpty && {
    kyberswap: openKyberswap(kyberswapUrl.reveal(), kyberswapClientId),
  }),
})
