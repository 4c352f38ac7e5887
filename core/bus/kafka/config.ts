import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/settings.ts'
import { Outage } from '../../errors.ts'
import type { KafkaBusOptions } from './bus.ts'

type KafkaSettings = Pick<
  Config,
  | 'dataDir'
  | 'lmdbMapSizeMb'
  | 'processName'
  | 'kafkaBrokers'
  | 'kafkaSessionTimeoutMs'
  | 'kafkaTls'
  | 'kafkaTlsCa'
  | 'kafkaTlsCert'
  | 'kafkaTlsKey'
  | 'kafkaSaslMechanism'
  | 'kafkaSaslUsername'
  | 'kafkaSaslPassword'
>

/** How a process reaches its brokers and where its lanes keep state. Throws `Outage` for a PEM file that is not there. */
export const kafkaBusOptions = (
  config: KafkaSettings,
): Omit<KafkaBusOptions, 'clientId' | 'log'> => {
  const { kafkaSaslMechanism: mechanism, kafkaSaslUsername: username } = config
  const password = config.kafkaSaslPassword.reveal()
  return {
    brokers: config.kafkaBrokers,
    sessionTimeoutMs: config.kafkaSessionTimeoutMs,
    state: { path: join(config.dataDir, 'state'), mapSizeBytes: config.lmdbMapSizeMb * 1_048_576 },
    ...(config.processName !== '' && { processName: config.processName }),
    ...(username !== '' && { sasl: { mechanism, username, password } }),
    ...(config.kafkaTls && { tls: toTlsOptions(config) }),
  }
}

const toTlsOptions = (config: KafkaSettings): NonNullable<KafkaBusOptions['tls']> => ({
  ...(config.kafkaTlsCa !== '' && { ca: readPem('KAFKA_TLS_CA', config.kafkaTlsCa) }),
  ...(config.kafkaTlsCert !== '' && { cert: readPem('KAFKA_TLS_CERT', config.kafkaTlsCert) }),
  ...(config.kafkaTlsKey !== '' && { key: readPem('KAFKA_TLS_KEY', config.kafkaTlsKey) }),
})

const readPem = (variable: string, path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Outage('bus', `${variable}: ${path} cannot be read`, { final: true, cause })
  }
}
