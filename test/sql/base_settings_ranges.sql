-- Both ends of each setting's range are accepted, and what lies beyond is not.
LOAD 'pg_shuttle';
CREATE FUNCTION pg_temp.accepts(name text, value text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config(name, value, true);
  RETURN true;
EXCEPTION WHEN invalid_parameter_value THEN
  RETURN false;
END $$;
SELECT name, unit, min_val, max_val,
       pg_temp.accepts(name, min_val) AS min_is_in,
       pg_temp.accepts(name, max_val) AS max_is_in,
       pg_temp.accepts(name, (min_val::bigint - 1)::text) AS below_is_in,
       pg_temp.accepts(name, (max_val::bigint + 1)::text) AS above_is_in
FROM pg_settings WHERE name LIKE 'shuttle.%' AND vartype = 'integer' AND context = 'user' ORDER BY name;
SELECT name, unit, min_val, max_val, context FROM pg_settings WHERE name LIKE 'shuttle.%' AND context <> 'user' ORDER BY name;
SELECT name, setting FROM pg_settings WHERE name LIKE 'shuttle.%' AND vartype = 'bool' ORDER BY name;
SET shuttle.batch_sise = 5;
SET shuttle.enable_batched_join = 'maybe';
