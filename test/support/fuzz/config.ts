import { envExample } from '../../../core/config/env-example.ts'
import { ConfigError } from '../../../core/config/errors.ts'
import { loadConfig } from '../../../core/config/load.ts'
import type { Random } from '../../../simulator/node/random.ts'
import { randomJson, randomText } from './random-values.ts'
import { FuzzFailure, type FuzzSurface } from './surface.ts'

const VARIABLES = [...envExample().matchAll(/^#([A-Z0-9_]+)(?:<CHAIN>)?=(.*)$/gm)].map(
  ([, name = '', value = '']) => ({ name, value }),
)
const OVERRIDES = [
  'port',
  'dataDir',
  'rpcUrls',
  'chains',
  'keyPepper',
  '__proto__',
  'constructor',
  'toString',
]

const environmentOf = (random: Random): Record<string, string> => {
  const pairs = Array.from({ length: 1 + random.below(5) }, (): [string, string] => {
    const { name, value } = random.pick(VARIABLES)
    const chain = name.endsWith('_')
      ? random.pick(['SOL', 'ETH', '__PROTO__', 'CONSTRUCTOR', ''])
      : ''
    const text = random.pick([
      value,
      randomText(random),
      randomJson(random),
      `${value}${randomText(random)}`,
    ])
    return [name + chain, text]
  })
  return Object.fromEntries(pairs)
}

const overridesOf = (random: Random): Record<string, unknown> => {
  if (random.chance(0.6)) return {}
  const text = randomJson(random)
  try {
    return Object.fromEntries([[random.pick(OVERRIDES), JSON.parse(text)]])
  } catch {
    return {}
  }
}

/** Environments and overrides: a configuration, or every mistake in words. */
export const configSurface: FuzzSurface = {
  name: 'config',
  share: 2,
  needsTarget: false,
  open: async () => ({
    run: async (random) => {
      const environment = environmentOf(random)
      const overrides = overridesOf(random)
      try {
        loadConfig(environment, overrides)
      } catch (error) {
        if (error instanceof ConfigError) return
        const what = JSON.stringify([environment, overrides]).slice(0, 400)
        throw new FuzzFailure(`${String(error).slice(0, 200)} for ${what}`)
      }
    },
    close: async () => undefined,
  }),
}
