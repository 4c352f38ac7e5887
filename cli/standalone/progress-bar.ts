import { Presets, SingleBar } from 'cli-progress'
import type { Source } from '../../ingestors/follow/contract.ts'
import type { App } from '../app/app.ts'

/** Blocks behind the head from which on catching up is worth a bar. */
const MIN_BLOCKS_BEHIND = 20

/** Shows a bar while the chain catches up, on a terminal only; it goes away at the head. */
export const showProgressBar = (app: App, source: Source): { stop(): void } => {
  const bar = new SingleBar(
    {
      format: '  catching up {bar} {value}/{total} blocks, {eta_formatted} left',
      hideCursor: true,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  )
  let first: number | undefined
  const timer = setInterval(() => {
    const height = app.ingestors[0]?.status().height ?? null
    const head = source.head()?.height
    if (!process.stderr.isTTY || height === null || head === undefined) return
    if (first === undefined) {
      if (head - height < MIN_BLOCKS_BEHIND) return
      first = height
      bar.start(head - first, 0)
    }
    bar.setTotal(head - first)
    bar.update(height - first)
    if (height < head) return
    bar.stop()
    first = undefined
  }, 250)
  return {
    stop: () => {
      clearInterval(timer)
      bar.stop()
    },
  }
}
