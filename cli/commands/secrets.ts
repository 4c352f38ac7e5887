import { randomBytes } from 'node:crypto'

/** Variables of docker-compose.yml that must be given, and the token of the admin API. */
const SECRET_NAMES = [
  'KEY_PEPPER',
  'CLICKHOUSE_PASSWORD',
  'CLICKHOUSE_PASSWORD_SERVE',
  'ADMIN_TOKEN',
]

/** Lines of an environment file with random secrets of 256 bits. `random` is for tests. */
export const secretLines = (random: (bytes: number) => Buffer = randomBytes): readonly string[] =>
  SECRET_NAMES.map((name) => `${name}=${random(32).toString('base64url')}`)
