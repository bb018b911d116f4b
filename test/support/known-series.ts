import { METRICS } from '../../src/features/health/metrics.ts';

/** Labels that Prometheus adds to every series. */
const OF_PROMETHEUS = ['job', 'instance'];

/** What an expression for Prometheus names although no metric of the hub has that name, label or label value. */
export function unknownIn(expression: string): string[] {
  const selectors = expression.matchAll(/\b((?:service|process|nodejs)_\w+)(?:\{([^}]*)\})?/g);
  return [...selectors].flatMap(([, name = '', matchers = '']) => {
    const metric = METRICS.find((one) => one.name === name || isSeriesOf(one, name));
    if (!metric) return [name];
    const all = [...matchers.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)];
    return all.filter(([, label = '', operator = '', value = '']) => !fits(metric, label, operator, value))
      .map(([matcher]) => `${name} ${matcher}`);
  });
}

function isSeriesOf({ type, name }: (typeof METRICS)[number], series: string): boolean {
  return type === 'histogram' && ['bucket', 'sum', 'count'].some((part) => series === `${name}_${part}`);
}

function fits({ labels = {} }: (typeof METRICS)[number], label: string, operator: string, value: string): boolean {
  if (OF_PROMETHEUS.includes(label)) return true;
  const values = new Map<string, string | readonly string[]>(Object.entries(labels)).get(label);
  if (typeof values === 'string' || values === undefined) return values !== undefined;
  return operator.endsWith('~') ? values.some((one) => new RegExp(`^(?:${value})$`).test(one)) : values.includes(value);
}
